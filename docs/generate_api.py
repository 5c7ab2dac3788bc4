"""Writes docs/api.md from the comments of the .proto files: python docs/generate_api.py"""

from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "api.md"
HEAD = """# API reference

Generated from the comments in [`proto/bvb/v1`](../proto/bvb/v1) by `docs/generate_api.py`; edit those, not this file.
[errors.md](errors.md) has the errors of all methods.
"""
Path_ = tuple[int, ...]
SERVICE, MESSAGE, ENUM = 6, 4, 5  # numbers of the fields of FileDescriptorProto


def descriptors(folder: Path) -> FileDescriptorSet:
    """The compiled .proto files with their comments; `folder` is for the compiler's output."""
    files = sorted(str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto"))
    out = folder / "descriptors"
    arguments = ["protoc", f"-I{ROOT / 'proto'}", "--include_source_info", f"--descriptor_set_out={out}", *files]
    if protoc.main(arguments):
        raise SystemExit("protoc failed")
    return FileDescriptorSet.FromString(out.read_bytes())


def anchor(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def type_of(field: FieldDescriptorProto) -> str:
    """The type of a field in the words of .proto files, messages and enums as links."""
    name = field.type_name.rsplit(".", 1)[-1]
    word = anchor(name) if name else FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    return f"repeated {word}" if field.label == FieldDescriptorProto.LABEL_REPEATED else word


def one_line(comment: str) -> str:
    return " ".join(comment.split()).replace("|", "\\|")


def paragraphs(comment: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in comment.split("\n\n"))


def message_lines(message: DescriptorProto, comments: dict[Path_, str], path: Path_) -> list[str]:
    lines = [f"### {message.name}", "", paragraphs(comments.get(path, "")), ""]
    if message.field:
        lines += ["| field | type | |", "|---|---|---|"]
    for i, field in enumerate(message.field):
        word = type_of(field)
        if field.proto3_optional:
            word = f"optional {word}"
        elif field.HasField("oneof_index"):
            word += f" (one of `{message.oneof_decl[field.oneof_index].name}`)"
        lines.append(f"| `{field.name}` = {field.number} | {word} | {one_line(comments.get((*path, 2, i), ''))} |")
    return [*lines, ""] if message.field else lines


def enum_lines(enum: EnumDescriptorProto, comments: dict[Path_, str], path: Path_) -> list[str]:
    lines = [f"### {enum.name}", "", paragraphs(comments.get(path, "")), "", "| value | |", "|---|---|"]
    for i, value in enumerate(enum.value):
        lines.append(f"| `{value.name}` = {value.number} | {one_line(comments.get((*path, 2, i), ''))} |")
    return [*lines, ""]


def reference(files: FileDescriptorSet) -> str:
    """The reference as Markdown: services first, then the messages and enums of each file."""
    services, types = [], []
    for file in files.file:
        comments = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}
        for s, service in enumerate(file.service):
            services += [f"## {service.name}", "", paragraphs(comments[(SERVICE, s)]), ""]
            for m, method in enumerate(service.method):
                asked, answered = (anchor(name.rsplit(".", 1)[-1]) for name in (method.input_type, method.output_type))
                asked = f"stream of {asked}" if method.client_streaming else asked
                answered = f"stream of {answered}" if method.server_streaming else answered
                services += [f"**{method.name}**: {asked} → {answered}", ""]
                services += [paragraphs(comments[(SERVICE, s, 2, m)]), ""]
        types += [f"## {file.name}", ""]
        for i, message in enumerate(file.message_type):
            types += message_lines(message, comments, (MESSAGE, i))
        for i, enum in enumerate(file.enum_type):
            types += enum_lines(enum, comments, (ENUM, i))
    return "\n".join([HEAD, *services, *types]).rstrip() + "\n"


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        OUT.write_text(reference(descriptors(Path(temporary))), encoding="utf-8")
