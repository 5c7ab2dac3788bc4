"""What the README shows is what the commands print."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def test_seeded_commands_print_what_the_readme_shows(tmp_path: Path) -> None:
    block = next(text for text in re.findall("```console\n(.*?)```", README.read_text(), re.S) if "bvb suggest" in text)
    *_, suggest = commands = [line.removeprefix("$ bvb ") for line in block.splitlines() if line.startswith("$ bvb ")]
    assert [command.split()[0] for command in commands] == ["record", "position", "suggest"]
    shown = block.partition(suggest + "\n")[2]
    for command in commands:
        words, _, file = command.partition(" > ")
        run = subprocess.run(
            [sys.executable, "-m", "bvb", *words.split()], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        if file:
            (tmp_path / file).write_text(run.stdout)
    assert re.sub(r"in \d+ ms", "in T ms", run.stdout) == re.sub(r"in \d+ ms", "in T ms", shown)
