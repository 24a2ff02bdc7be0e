"""Known weaknesses of the pinned versions, in a few lines; says how many pins could not be looked up."""

import json
import subprocess
import sys
from pathlib import Path

COMMAND = ["--requirement", "constraints.txt", "--no-deps", "--disable-pip", "--timeout", "10", "--format", "json"]


def main() -> None:
    tool = Path(sys.executable).with_name("pip-audit")
    done = subprocess.run([tool, *COMMAND, "--progress-spinner", "off"], capture_output=True, text=True, check=False)
    try:
        pins = json.loads(done.stdout)["dependencies"]
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"audit: the lists of weaknesses could not be reached ({last.partition(':')[0]})")
        return
    known = [pin for pin in pins if "skip_reason" not in pin]
    weak = [(pin, weakness) for pin in known for weakness in pin["vulns"]]
    for pin, weakness in weak:
        mended = ", ".join(weakness["fix_versions"]) or "no version yet"
        print(f"{pin['name']} {pin['version']}: {weakness['id']}, mended in {mended}")
    print(
        f"audit: {len(known)} of {len(pins)} pins looked up, {len(weak)} known weaknesses; "
        f"{len(pins) - len(known)} could not be looked up"
    )


main()
