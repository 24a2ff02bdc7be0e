"""The sets of copies as a report tells them: which contradict each other, which reach into the held-out part."""

import numpy as np
import pandas as pd

from scanmix_cli.data.samples import TRAIN


def copy_sets(report: pd.DataFrame) -> pd.DataFrame:
    """A row per `duplicate_set`, the index its number: `images`; `conflict`, its images have more than one label (blank
    ones contradict nothing); `leak`, it holds training images and others."""
    member = report[report["duplicate_set"].notna()]
    number = member["duplicate_set"].astype(np.int64)
    sets = pd.DataFrame({"images": number.value_counts().sort_index()})
    labels = member["given_label"].mask(member["given_label"] == "")
    sets["conflict"] = labels.groupby(number).nunique() > 1
    in_train = member["split"] == TRAIN
    sets["leak"] = (member["split"].groupby(number).nunique() > 1) & in_train.groupby(number).any()
    return sets
