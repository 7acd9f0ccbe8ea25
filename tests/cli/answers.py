"""Validates --json by docs/fnz-json.schema.json: an answer of each verb, and failures.

    answers.py FNZ ROOT

The schema is applied by python3-jsonschema. Debian has it for its own Python, which is tried second. Without it the test is
skipped, unless FNZ_NEED_TOOLS is set."""
import json
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
SYSTEM = "/usr/bin/python3"
FIXTURE = "fixtures/pt2/kv_cache.pt2"
INPUTS = "fixtures/pt2/kv_cache.inputs.safetensors"
COSTS = "fixtures/why/costs.fnz"
NATIVE = "fixtures/native/"

# Command lines, with the exit code and one member that the answer has.
ANSWERS = [
    (f"convert {FIXTURE} -o OUT --json", 0, "nodes_out"),
    (f"stats {FIXTURE} --json", 0, "unruled"),
    (f"run {FIXTURE} --inputs {INPUTS} --json", 0, "outputs"),
    (f"verify {FIXTURE} --json", 0, "equal"),
    (f"bench {FIXTURE} --inputs {INPUTS} --rounds 2 --json", 0, "steps"),
    (f"show {FIXTURE} --json", 0, "text"),
    (f"lint {FIXTURE} --json", None, "findings"),
    (f"lint {COSTS} --json", 1, "findings"),
    (f"lint {FIXTURE} --text --json", None, "no_run"),
    (f"explain {FIXTURE} --json", 0, "guards"),
    (f"explain {COSTS} --json", 0, "costs"),
    (f"explain {COSTS} --json --min-bytes 200", 0, "run"),
    (f"explain {COSTS} --json --text", 0, "no_run"),
    (f"explain {COSTS} view_copy --json", 0, "nodes"),
    (f"explain {FIXTURE} --plan --json", 0, "plan"),
    (f"diff {FIXTURE} {FIXTURE} --json", 0, "same"),
    (f"hash {FIXTURE} --json", 0, "hash"),
    ("fuzz --count 20 --json", 0, "verdicts"),
    ("fuzz --count 5 --plant --json", 0, "programs"),
    ("ops add_.Tensor --json", 0, "operators"),
    ("ops 'view*' --json", 0, "operators"),
    (f"--json stats {FIXTURE}", 0, "nodes_in"),
    ("verify fixtures/cli/slice_write.fnz fixtures/pt2/kv_cache.pt2 --json", None, "error"),
    ("stats nowhere --json", 3, "error"),
    ("convert nowhere --no-such-option --json", 64, "error"),
    (f"run {FIXTURE} --json", 2, "error"),
    ("ops no_such_operator --json", 2, "error"),
    ("draw --json x", 64, "error"),
]


def every_verb(fnz):
    text = subprocess.run([fnz, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"^  ([a-z]+) +[A-Z\[]", text, re.M)) - {"fnz"}


def main():
    fnz, root = sys.argv[1:]
    try:
        from jsonschema import Draft202012Validator as Validator
    except ImportError:
        if sys.executable != SYSTEM and os.path.exists(SYSTEM):
            os.execv(SYSTEM, [SYSTEM, *sys.argv])
        if os.environ.get("FNZ_NEED_TOOLS"):
            sys.exit("python3-jsonschema is missing")
        return SKIPPED
    with open(os.path.join(root, "docs/fnz-json.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    Validator.check_schema(schema)
    validator, wrong, seen = Validator(schema), [], set()
    folder = tempfile.TemporaryDirectory()
    out = os.path.join(folder.name, "out.cbor")
    for line, code, member in ANSWERS:
        words = [out if word == "OUT" else word.strip("'") for word in line.split()]
        done = subprocess.run([fnz, *words], cwd=root, capture_output=True, text=True)
        try:
            answer = json.loads(done.stdout)
        except json.JSONDecodeError as error:
            wrong.append(f"{line}: no JSON: {error}: {done.stdout[:200]}")
            continue
        seen.add(answer.get("verb"))
        wrong += [f"{line}: {e.message}" for e in validator.iter_errors(answer)]
        if member not in answer:
            wrong.append(f"{line}: there is no {member}")
        if code is not None and done.returncode != code:
            wrong.append(f"{line}: exit {done.returncode}, not {code}: {done.stderr}")
        if "error" in answer and answer["error"]["exit"] != done.returncode:
            wrong.append(f"{line}: exit {done.returncode}, but the object says {answer['error']['exit']}")
    wrong += [f"no answer of {verb} was looked at" for verb in every_verb(fnz) - seen - {"view"}]
    broken = {"fnz_json": 2, "verb": "hash", "hash": "00"}
    if validator.is_valid(broken):
        wrong.append("the schema takes an object of another version")
    broken = {"fnz_json": 1, "verb": "lint", "findings": [
        {"kind": "copy", "class": "", "where": "", "what": "", "remedy": "", "graph": 0, "bytes": 8}]}
    if validator.is_valid(broken):
        wrong.append("the schema takes a cost of a run without its parts")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
