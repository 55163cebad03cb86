"""nrem jobs: what is done in the background."""

from __future__ import annotations

import click

from nrem.policy.rendering import clean
from nrem.surface.cli.shared import Command, Group, json_option, present, show_json, store, table, when


@click.group("jobs", cls=Group)
def jobs_command() -> None:
    """List what is done in the background, and try again what failed."""


@jobs_command.command("list", cls=Command)
@click.option("--state", type=click.Choice(["queued", "running", "done", "dead"]), help="Only of this state.")
@click.option("--limit", type=int, default=20, show_default=True, help="At most so many, up to 1000.")
@json_option
def list_jobs(state: str | None, limit: int, as_json: bool) -> None:
    """List jobs, newest first."""
    with store() as run:
        found = run("list_jobs", **present({"state": state, "limit": limit}))
    if as_json:
        show_json(found)
        return
    if not found["jobs"]:
        click.echo("No jobs.")
        return
    rows = [
        [
            *(job["id"], job["kind"], job["agent"], job["state"], when(job["due_at"])),
            *(str(job["attempts"]), job["last_error"] or ""),
        ]
        for job in found["jobs"]
    ]
    table("Id", "Kind", "Agent", "State", "Due", "Attempts", "Last error", rows=rows)
    dead = [job["id"] for job in found["jobs"] if job["state"] == "dead"]
    if dead:
        click.echo(f"Dead jobs are not tried again by themselves. Next: nrem jobs retry {dead[0]}", err=True)


@jobs_command.command("retry", cls=Command)
@click.argument("id")
@json_option
def retry(id: str, as_json: bool) -> None:
    """Queue a dead job anew."""
    with store() as run:
        job = run("retry_job", id=id)
    if as_json:
        show_json(job)
    else:
        click.echo(clean(f"Queued {job['kind']} of {job['agent']} again."))
