"""Conversion of models to OpenVINO's format, by its own reader of GGUF files."""

from pathlib import Path

from engines.servers.gguf_files import write_gguf

MODEL = "openvino_model.xml"


def converted(source: Path, tokenizer_folder: Path, folder: Path) -> Path:
    """Returns a folder in OpenVINO's format; writes a Llama-shaped model into `folder` otherwise.

    The library writes what its reader of GGUF files made of float16 matrices.
    """
    if (source / MODEL).is_file():
        return source
    folder.mkdir()
    file = folder / "model.gguf"
    try:
        write_gguf(source, tokenizer_folder, file, half=True)
    except ValueError as error:
        raise ValueError(
            f"a model must be a folder with {MODEL}, as `optimum-cli export openvino` writes, or "
            f"one to convert, got {source}: {error}"
        ) from error
    import openvino_genai

    openvino_genai.LLMPipeline(str(file), "CPU", enable_save_ov_model=True)
    # A folder with a GGUF file would be read from that file again.
    file.unlink()
    return folder
