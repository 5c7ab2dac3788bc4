"""docs/api.md is what the .proto files say."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from bvb.v1 import bot_pb2, engine_pb2

from ..conftest import ROOT


@pytest.fixture
def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate_api", ROOT / "docs" / "generate_api.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_is_up_to_date(generator: Any, tmp_path: Path) -> None:
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert written == generator.reference(generator.descriptors(tmp_path)), "run `make docs`"


def test_reference_is_complete() -> None:
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for module in (engine_pb2, bot_pb2):
        for service in module.DESCRIPTOR.services_by_name.values():
            assert all(f"**{method.name}**" in written for method in service.methods)
        for message in module.DESCRIPTOR.message_types_by_name.values():
            section = written.split(f"### {message.name}\n", 1)[1].split("\n### ", 1)[0]
            assert all(f"| `{field.name}` = {field.number} |" in section for field in message.fields)
    headings = {heading.lower() for heading in re.findall(r"^#+ (\w+)$", written, re.MULTILINE)}
    assert set(re.findall(r"\(#(\w+)\)", written)) <= headings
    assert not re.search(r"\|  \|$", written, re.MULTILINE), "a field without a comment"
