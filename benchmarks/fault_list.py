"""Which faults `faults.py` tries: every stage of both EM loops, and those that outside weights and MoCo-v2 bring."""

from fault_points import Fault

# Settings of `fault_data.py`, and the stages in which such a run takes gradient steps.
STAGES = {
    "published": ("simclr", "scan", "warmup", "scanmix"),
    "beliefs": ("simclr", "scanmix"),
    "features": ("warmup", "scanmix"),
    "moco": ("moco",),  # its other stages are those of "published"
}
CACHE = ("append", "half images.npy", "half records.npz", "half notes.json")  # places in a cache of the run's own

_BEGINNING = [
    ("append", 20),
    ("half images.npy", 1),
    ("half notes.json", 1),
    ("call workflow.train.make_plan", 1),
    ("half config.toml", 1),
    ("renamed config.toml", 1),
    ("half identity.json", 1),
]
_END = [
    ("call workflow.train.judge", 1),
    ("half evidence.npz", 1),
    ("half model.safetensors", 1),
    ("half model.onnx", 1),
    ("half model.json", 1),
    ("half report.csv", 1),
    ("rename report.csv", 1),
    ("renamed report.csv", 1),
    ("half cleaned.csv", 1),
    ("half summary.json", 1),
    ("half report.html", 1),
    ("half latest", 1),
]
_OWN = {  # what lies between the stages, and late steps
    "published": [
        ("call method.methods.mine_neighbors", 1),
        ("epoch neighbors", 1),
        ("half neighbors-", 1),
        ("half kept-neighbors", 1),
        ("half kept-gate", 1),
        ("renamed kept-gate", 1),
        ("step scanmix", 10),
    ],
    "beliefs": [
        ("call method.teacher.mine_neighbors", 1),
        ("call method.teacher.mine_neighbors", 2),
        ("step scanmix", 3),
    ],
    "features": [
        ("epoch embedding", 1),
        ("half kept-centred-features", 1),
        ("renamed kept-centred-features", 1),
        ("half kept-regression", 1),
        ("step scanmix", 10),
    ],
    "moco": [],
}


def kill_points() -> list[Fault]:
    """All over a run: steps, epochs, what lies between the stages, and files half written, whole, in place."""
    faults = [Fault("kill", *place) for place in _BEGINNING]
    for settings, stages in STAGES.items():
        places = [(f"{kind} {stage}", number) for stage in stages for kind in ("step", "epoch") for number in (1, 2)]
        places += [(f"{moment} {stage}-", 2) for stage in stages for moment in ("half", "rename", "renamed")]
        places += [("half metrics.csv", 4)] if "scanmix" in stages else []
        places += _OWN[settings] + (_END if settings in ("published", "beliefs") else [])
        faults += [Fault("kill", *place, settings) for place in places]
    return faults


def other_faults() -> list[Fault]:
    """A full and a broken disk, too little memory and a number that is none, in every stage."""
    disk = [
        ("half config.toml", "published"),
        ("half kept-neighbors", "published"),
        ("half kept-centred-features", "features"),
    ]
    disk += [(place, "published") for place in CACHE]
    disk += [(f"half {stage}-", settings) for settings, stages in STAGES.items() for stage in stages]
    disk += [
        (f"half {name}", settings)
        for settings in ("published", "beliefs")
        for name in ("evidence.npz", "report.csv", "model.safetensors", "report.html")
    ]
    faults = [Fault(action, place, 1, settings) for place, settings in disk for action in ("enospc", "eio")]
    faults += [Fault(action, "log", number) for number in (1, 9) for action in ("enospc", "eio")]
    return faults + [
        Fault(action, f"step {stage}", 2, settings)
        for settings, stages in STAGES.items()
        for stage in stages
        for action in ("oom", "nan", "ooms", "nans")
    ]


def few_points() -> list[Fault]:
    """For machines on which every run takes long: each stage killed in a step, half done and half written, without
    memory and with a number that is none. What is on by default comes first, should time not last for all."""
    faults = []
    for settings in ("beliefs", "published"):
        stages = STAGES[settings]
        places = [(f"{kind} {stage}", number) for stage in stages for kind, number in (("step", 2), ("renamed", 1))]
        places = [(f"{place}-" if place.startswith("renamed") else place, number) for place, number in places]
        places += [("half scanmix-", 2)]
        faults += [Fault("kill", *place, settings) for place in places]
        faults += [Fault(action, f"step {stage}", 2, settings) for stage in stages for action in ("oom", "nan")]
    places = [("half kept-neighbors", 1), ("call workflow.train.judge", 1), ("half report", 1)]
    faults += [Fault("kill", *place) for place in places]
    return faults + [Fault(action, "step moco", 2, "moco") for action in ("kill", "oom", "nan")]
