"""Measures the effect of rescoring on blockwise drafts of the embedded target: Kim et al. 2024.

    python benchmarks/blockwise_drafts.py --work build/blockwise -o figures/results/blockwise.json

Prompts are definitions in library files that no embedded model was trained on, several per file.
The first 100 prompts tune the rescorers' weights, so all but one file serve one purpose only. Three
n-gram models are trained on the other files (all n-grams of orders 1 and 2; of orders 3 and 4 the
n-grams that occur twice). Models and texts are saved in --work, from which an interrupted run
resumes. Then it runs all analyses of `specplan heads analyse`.
"""

import argparse
import pickle
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from result_file import setup, write_result
from tqdm import tqdm

from estimator.prompts.prompts import DEFINITION
from ngram.formats.model_files import load_model as load_ngram
from ngram.rows.rows import Rows, vocabulary_of
from ngram.training.corpus import encode_texts, read_texts
from ngram.training.train import train
from reference.files import whole_file
from reference.laws import Sampling
from reference.models.embedded import library_files, weights_folder
from reference.models.huggingface import load_model, load_tokenizer, resolve_device
from reference.records import Stopping
from studies.blockwise.analysis import analyse
from studies.blockwise.best_paths import Automaton
from studies.blockwise.heads import HeadsDrafter, load_heads
from studies.blockwise.texts import block_text

K = 16
PROMPT_TOKENS = 64
PRUNE = (0, 0, 1, 1)


def definitions(tokenizer: Any, a_file: int) -> list[list[int]]:
    """Returns prompts from the held-out files in their order, at most so many of each, apart."""
    prompts = []
    for path in library_files(held=True):
        source = path.read_text(encoding="utf-8", errors="replace")
        starts = [match.start() for match in DEFINITION.finditer(source)]
        for start in starts[:: max(len(starts) // a_file, 1)][:a_file]:
            ids = tokenizer(source[start : start + 16 * PROMPT_TOKENS])["input_ids"]
            if len(ids) >= PROMPT_TOKENS:
                prompts.append(ids[:PROMPT_TOKENS])
    return prompts


def cached_values(config: Any) -> int:
    """Returns how many numbers of keys and values a token leaves in a model's cache."""
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--a-file", type=int, default=10, help="prompts of a file, at most")
    parser.add_argument("--tuning", type=int, default=100, help="prompts for tuning")
    parser.add_argument("--max-new-tokens", type=int, default=24)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)

    device = resolve_device("cpu")
    source = str(weights_folder("target"))
    tokenizer = load_tokenizer(source)
    automata = {}
    for order in (2, 3, 4):
        path = arguments.work / f"{order}gram.arpa"
        if not path.exists():
            corpus = encode_texts(read_texts(library_files(held=False)), tokenizer)
            train(
                corpus, path, order=order, prune=PRUNE[:order], tokenizer=tokenizer,
                tokenizer_name="embedded",
            )  # fmt: skip
        automata[f"{order}-gram"] = Automaton(Rows(load_ngram(path), vocabulary_of(tokenizer)))

    target = load_model(source, device=device)
    heads = load_heads(weights_folder("heads"), target.module, name="embedded")
    embedding = target.module.get_output_embeddings()
    drafter = HeadsDrafter(target, heads, embedding, Sampling(0.0), name="heads")
    prompts = definitions(tokenizer, arguments.a_file)
    stopping = Stopping(arguments.max_new_tokens)
    kept = []
    for number, prompt in enumerate(tqdm(prompts, desc="texts")):
        file = arguments.work / f"text-{arguments.max_new_tokens}-{number}.pickle"
        if not file.exists():
            with whole_file(file) as partial:
                partial.write_bytes(
                    pickle.dumps(block_text(target, drafter, prompt, stopping=stopping, k=K))
                )
        text = pickle.loads(file.read_bytes())
        if text is not None:
            kept.append(text)
    neural = load_model(str(weights_folder("draft")), device=device)
    with tqdm(desc="ways") as bar:
        result = analyse(
            kept[: arguments.tuning],
            kept[arguments.tuning :],
            ngrams=automata,
            neural=neural,
            k=K,
            step=bar.update,
        )
    made_with = {
        "target": "embedded",
        "heads": "embedded",
        "neural": "embedded",
        **setup(),
        "max_new_tokens": arguments.max_new_tokens,
        "sizes": {
            "target": target.module.num_parameters(),
            "heads": sum(weight.numel() for weight in heads.parameters()),
            "neural": neural.module.num_parameters(),
            "target_cache": cached_values(target.module.config),
            "neural_cache": cached_values(neural.module.config),
        },
        "ngrams": {
            name: [len(level.words) for level in a.model.levels] for name, a in automata.items()
        },
    }
    write_result(arguments.output, to_builtins(result) | {"setup": made_with}, indent=1)
    print(f"{len(kept)} texts, {result.texts} of them evaluated: {arguments.output}")


if __name__ == "__main__":
    main()
