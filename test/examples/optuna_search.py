"""Lets Optuna search for knobs and switches: `python optuna_search.py 'kernels/*.ptx' [trials]`.

`orrery evaluate` reads an arm a line and answers what it comes to. Any optimizer that can write and read lines can drive it
in this way; nothing here but `ask` and `tell` is Optuna's.
"""

import json
import os
import subprocess
import sys

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


def main():
    kernels, trials = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50
    command = os.environ.get("ORRERY", "orrery").split() + ["evaluate", "--kernels", kernels]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as orrery:
        for _ in range(trials):
            trial = study.ask()
            print(json.dumps({"id": trial.number, **arm_of(trial)}), file=orrery.stdin, flush=True)
            answer = json.loads(orrery.stdout.readline())
            # An arm that breaks a kernel, or is no plan, is worth nothing.
            if answer["ok"]:
                study.tell(trial, answer["ratios"]["weighted"])
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        orrery.stdin.close()
    print(json.dumps({"weighted": study.best_value, "arm": arm_of(study.best_trial)}))


main()
