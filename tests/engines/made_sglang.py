"""A program that takes SGLang's flags and answers as its server does: `python made_sglang.py ...`.

Its blocks accept drafted tokens in turns of three of four. It ends at once where a flag is missing.
"""

import argparse
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STEP_SECONDS, DRAFTED_SECONDS = 0.01, 0.0005


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("model-path", "host"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--speculative-algorithm", choices=("STANDALONE",))
    parser.add_argument("--speculative-draft-model-path")
    for name in ("num-steps", "eagle-topk", "num-draft-tokens"):
        parser.add_argument(f"--speculative-{name}", type=int)
    parser.add_argument("--made-longest", type=int, default=99)
    parser.add_argument("--made-old-keys", action="store_true")
    return parser.parse_args()


FLAGS = parsed()
GAMMA = 0
if FLAGS.speculative_algorithm is not None:
    assert FLAGS.speculative_draft_model_path
    assert FLAGS.speculative_eagle_topk == 1
    assert FLAGS.speculative_num_draft_tokens == FLAGS.speculative_num_steps + 1
    GAMMA = min(FLAGS.speculative_num_steps, FLAGS.made_longest)
LENGTH = os.environ.get("SGLANG_SIMULATE_ACC_LEN")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        pages = {"/health": "", "/get_server_info": json.dumps({"version": "0.5-made"})}
        self.send_response(200 if self.path in pages else 404)
        self.end_headers()
        self.wfile.write(pages.get(self.path, "").encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        room = body["sampling_params"]["max_new_tokens"]
        assert body["stream"]
        assert body["sampling_params"]["ignore_eos"]
        self.send_response(200)
        self.end_headers()
        histogram, written, at = [0] * (GAMMA + 1), 1, 0
        self.send(written, histogram)
        while written < room:
            time.sleep(STEP_SECONDS + GAMMA * DRAFTED_SECONDS)
            accepted = 0 if LENGTH is None else min(GAMMA, round(float(LENGTH)) - 1)
            while LENGTH is None and accepted < GAMMA and (at := at + 1) % 4:
                accepted += 1
            histogram[accepted] += 1
            written = min(room, written + accepted + 1)
            self.send(written, histogram)
        self.wfile.write(b"data: [DONE]\n\n")

    def send(self, written: int, histogram: list[int]) -> None:
        meta: dict[str, Any] = {"completion_tokens": written}
        if GAMMA and written > 1:
            drafts = sum(histogram)
            accepted = sum(at * count for at, count in enumerate(histogram))
            names = ("spec_accepted_drafts", "spec_proposed_drafts")
            if FLAGS.made_old_keys:
                names = ("spec_accept_token_num", "spec_draft_token_num")
            meta |= {names[0]: accepted, names[1]: drafts * GAMMA, "spec_verify_ct": drafts,
                     "spec_accept_histogram": histogram}  # fmt: skip
        chunk = {"text": "", "output_ids": [7] * written, "meta_info": meta}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


ThreadingHTTPServer((FLAGS.host, FLAGS.port), Handler).serve_forever()
