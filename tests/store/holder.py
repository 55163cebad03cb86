"""Opens a store and holds it until its standard input ends; says what happened as a line of JSON."""

import json
import os
import sys
from pathlib import Path

from nrem.errors import NremError
from nrem.runtime.app import App

home, wait = sys.argv[1:]
try:
    with App.open(Path(home), create=True, wait=float(wait)):
        os.write(1, json.dumps({"open": True}).encode() + b"\n")
        sys.stdin.read()
except NremError as error:
    os.write(1, json.dumps({"code": error.code, "message": error.message}).encode() + b"\n")
