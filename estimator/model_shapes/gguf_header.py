"""Reads the header of a GGUF file: its fields and the sizes of its tensors, without weights."""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
# Formats of single values, by the number of their type; 8 is a text and 9 a list.
_FORMATS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a GGUF file, as its header describes it.

    sizes: the innermost first. type: number of its GGML type, for example 0 for float32.
    stored_bytes: bytes in the file, up to the next tensor.
    """

    name: str
    sizes: tuple[int, ...]
    type: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The fields of a GGUF file by name, and the tensors of the file and of its other shards."""

    fields: Mapping[str, Any]
    tensors: tuple[Tensor, ...]

    @property
    def architecture(self) -> str:
        return str(self.fields.get("general.architecture", "unknown"))

    def of_model(self, name: str) -> Any:
        """Returns the architecture's own field, for example "block_count"; None if it has none."""
        return self.fields.get(f"{self.architecture}.{name}")


def is_gguf(name: str | Path | None) -> bool:
    """Returns whether a name ends as GGUF files do."""
    return str(name).lower().endswith(".gguf")


def read_header(path: Path) -> GgufHeader:
    """Returns the header of a GGUF file and of its other shards; refuses other and cut files."""
    shard, files = _SHARD.search(path.name), [path]
    if shard is not None:
        stem, count = path.name[: shard.start()], int(shard[2])
        names = (f"{stem}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1))
        files = [path.with_name(name) for name in names]
    parts = [_read(file) for file in files]
    return GgufHeader(parts[0].fields, tuple(tensor for part in parts for tensor in part.tensors))


def _read(path: Path) -> GgufHeader:
    with path.open("rb") as file:
        if file.read(4) != _MAGIC or _value(file, 4) not in _VERSIONS:
            raise ValueError(f"{path} must be a GGUF file of version 2 or 3, got another file")
        try:
            return _parsed(file, path.stat().st_size)
        except (struct.error, UnicodeDecodeError, KeyError, OverflowError, MemoryError):
            raise ValueError(f"{path} must be a whole GGUF file, got a damaged one") from None


def _parsed(file: BinaryIO, size: int) -> GgufHeader:
    """Returns the header of a file of `size` bytes, read from behind its version."""
    tensors, count = _value(file, 10), _value(file, 10)
    fields = {str(_value(file, _TEXT)): _value(file, _value(file, 4)) for _ in range(count)}
    placed = []
    for _ in range(tensors):
        name, dimensions = _value(file, _TEXT), _value(file, 4)
        sizes = tuple(_value(file, 10) for _ in range(dimensions))
        value_type, offset = _value(file, 4), _value(file, 10)
        placed.append((offset, name, sizes, value_type))
    alignment = fields.get("general.alignment", 32)
    start = -(-file.tell() // alignment) * alignment
    placed.sort()
    ends = [*(offset for offset, *_ in placed[1:]), size - start]
    stored = [end - offset for (offset, *_), end in zip(placed, ends, strict=True)]
    if min(stored, default=0) < 0:
        raise struct.error
    return GgufHeader(
        fields,
        tuple(Tensor(*entry[1:], taken) for entry, taken in zip(placed, stored, strict=True)),
    )


def _value(file: BinaryIO, value_type: int) -> Any:
    """Reads the value of a type: a number, a truth value, a text or a list."""
    if value_type == _TEXT:
        length = _value(file, 10)
        text = file.read(length)
        if len(text) < length:
            raise struct.error
        return text.decode(errors="replace")
    if value_type == _LIST:
        value_type, length = _value(file, 4), _value(file, 10)
        if value_type in (_TEXT, _LIST):
            return [_value(file, value_type) for _ in range(length)]
        form = struct.Struct(f"<{length}{_FORMATS[value_type]}")
        return list(form.unpack(file.read(form.size)))
    form = struct.Struct(f"<{_FORMATS[value_type]}")
    return form.unpack(file.read(form.size))[0]
