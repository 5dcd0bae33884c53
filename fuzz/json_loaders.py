"""Fuzz the functions that read fcca's JSON documents: ``python fuzz/json_loaders.py --executions 1000000``.

The inputs are valid documents with changed bytes or changed JSON values. atheris chooses the changes by code coverage. The
run ends if a document raises anything except an FCCAError, takes too long or needs too much memory. The document is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

SECONDS_PER_DOCUMENT, MOST_MEGABYTES, LONGEST, SHORTEST = 20, 2048, 65536, 100
REPORTED_EVERY = 50_000
FUZZED = (
    "fcca.export",
    "fcca.utils._json_documents",
    "fcca.conditions",
    "fcca.thresholds",
    "fcca.tables._columns",
    "fcca.trees",
)


def readers() -> dict[str, Callable[[bytes], object]]:
    """Return the functions to fuzz, by the kind of document that they read."""
    from fcca import ThresholdTable
    from fcca.export import EXPORTERS, from_json

    def tree(content: bytes) -> object:
        found = from_json(content)
        return [EXPORTERS[name].write(found) for name in ("text", "json")]

    def thresholds(content: bytes) -> object:
        table = ThresholdTable.from_json(content.decode(errors="surrogateescape"))
        return table.names(), ThresholdTable.from_json(table.to_json())

    return {"tree.json": tree, "thresholds.json": thresholds}


def main() -> None:
    """Run the requested number of executions, half of them for each function."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=Path("fuzz/found"), help="folder for documents that end the run")
    given = parser.parse_args()
    for kind in ("tree.json", "thresholds.json"):
        child = os.fork()  # atheris ends the process when it is done
        if not child:
            fuzz(kind, given.executions // 2, given.seed, given.kept)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            sys.exit(f"{kind}: the run ended with exit code {code}. The document is in {given.kept}.")


def fuzz(kind: str, executions: int, seed: int, kept: Path) -> None:
    """Fuzz one function. The process ends if a document causes a failure."""
    import atheris

    read = readers()[kind]
    # Instrument the modules after they are loaded: the import hook of atheris does not see an editable install.
    for name, module in list(sys.modules.items()):
        if name.startswith(FUZZED):
            for function in vars(module).values():
                if isinstance(function, FunctionType) and function.__module__ == name:
                    atheris.instrument_func(function)
    from fcca.exceptions import FCCAError
    from hardening.mutations import mutated
    from hardening.seeds import KINDS

    honest = [json.dumps(json.loads(content), separators=(",", ":")).encode() for content in KINDS[kind][0]()]
    counted = {"executions": 0, "read": 0}
    began = time.perf_counter()

    def one(content: bytes) -> None:
        counted["executions"] += 1
        try:
            read(content)
            counted["read"] += 1
        except FCCAError:
            pass
        if counted["executions"] % REPORTED_EVERY == 0 or counted["executions"] == executions:
            seconds = time.perf_counter() - began
            print(
                f"{kind}: {counted['executions']:,} executions, {counted['executions'] / seconds:,.0f} a second, "
                f"{counted['read']:,} read, the rest refused, 0 crashes",
                flush=True,
            )

    def changed(content: bytes, longest: int, seed: int) -> bytes:
        rng = random.Random(seed)
        content = rng.choice(honest) if len(content) < SHORTEST or rng.random() < 0.1 else content
        if rng.random() < 0.5:
            return atheris.Mutate(content, longest)
        return mutated(content, seed, structured="json")[:longest]

    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for at, content in enumerate(honest):
            (Path(corpus) / f"{at}.json").write_bytes(content)
        options = [f"-runs={executions}", f"-seed={seed}", f"-timeout={SECONDS_PER_DOCUMENT}", f"-max_len={LONGEST}"]
        options += [f"-rss_limit_mb={MOST_MEGABYTES}", f"-artifact_prefix={kept}/{kind}-", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *options, corpus], one, custom_mutator=changed)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
