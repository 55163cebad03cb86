from nrem.surface.cli.main import main

main(prog_name="nrem")
