"""Lets Optuna search for knobs and switches: `python optuna_search.py 'kernels/*.ptx' [trials]`.

`orrery evaluate` reads an arm a line and answers what it comes to. Any optimizer that can write and read lines can drive it
in this way; nothing here but `ask` and `tell` is Optuna's.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import optuna

SWITCHES = ["GeneralOptimizeEarly", "GeneralOptimizeMid", "GeneralOptimizeLate"]


def arm_of(trial):
    return {
        "set": {
            "GeneralOptimizationBudget": trial.suggest_int("budget", 0, 200),
            "ContractProducts": trial.suggest_categorical("contract", [True, False]),
        },
        "disable": [p for p in SWITCHES if not trial.suggest_categorical(p, [True, False])],
    }


def start(kernels):
    """Starts orrery: that of the clone with this file, or else on PATH, unless ORRERY says how it is called."""
    own = Path(__file__).resolve().parents[2] / "bin" / "orrery.js"
    usual = ["node", str(own)] if own.exists() else ["orrery"]
    command = os.environ["ORRERY"].split() if "ORRERY" in os.environ else usual
    try:
        return subprocess.Popen(
            [*command, "evaluate", "--kernels", kernels],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    except OSError as e:
        sys.exit(
            f"error: '{command[0]}' cannot be run ({e.strerror})\n"
            "  put orrery on PATH, or say in ORRERY how it is called"
        )


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: python optuna_search.py 'kernels/*.ptx' [trials]")
    kernels, trials = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    with start(kernels) as orrery:
        for _ in range(trials):
            trial = study.ask()
            try:
                print(json.dumps({"id": trial.number, **arm_of(trial)}), file=orrery.stdin, flush=True)
            except BrokenPipeError:
                pass
            line = orrery.stdout.readline()
            if line == "":
                # orrery has said itself what ended it.
                sys.exit(1)
            answer = json.loads(line)
            # An arm that breaks a kernel, or is no plan, is worth nothing.
            if answer["ok"]:
                study.tell(trial, answer["ratios"]["weighted"])
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        orrery.stdin.close()
    print(json.dumps({"weighted": study.best_value, "arm": arm_of(study.best_trial)}))


main()
