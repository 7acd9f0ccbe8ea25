"""decode.py - a language model writes: compiled once, called once per token, with its key and value caches in a state
that stays where it is. It does the same as decode.c, by the Python package.

    PYTHONPATH=python python3 examples/decode.py fixtures/decode/llama.pt2
"""

import array
import sys

import fnz

TOKENS, FIRST = 24, 7


def main(path: str) -> None:
    executable = fnz.load(path).functionalize().compile()
    token, said = FIRST, []
    for _ in range(TOKENS):
        given = memoryview(array.array("q", [token])).cast("B").cast("q", (1, 1))  # a tensor without NumPy or PyTorch
        token = executable(given).item()
        said.append(token)
    print(*said)
    print(f"the caches hold {executable.state['pos'].item()} tokens")


if __name__ == "__main__":
    main(sys.argv[1])
