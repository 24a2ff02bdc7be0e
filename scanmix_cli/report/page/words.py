"""The verdict in words."""

from typing import Any

from scanmix_cli.data.wording import counted
from scanmix_cli.legible import legible

STEPS = ((0.005, "Hardly any label looks wrong"), (0.02, "A few labels look wrong"))
SMALLEST = 0.0005  # a share that shows as more than 0.0 %
MAY_BE_RIGHT = 0.05  # low end of the noise rate, below which only suspects say that something is wrong
MAY_BE_WRONG = 0.1  # high end of the noise rate, from which a list of no suspects says nothing
LEARNED = 0.4  # of the way from chance to every image right, below which the networks cannot judge labels
MANY = (
    (0.55, "Most labels look wrong"),
    (0.45, "About half of the labels look wrong"),
    (0.36, "About two labels in five look wrong"),
)


def headline(summary: dict[str, Any]) -> str:
    """The noise rate as a sentence: `About one label in five looks wrong`."""
    if not summary["counts"]["labelled"]:
        return "There is no label to judge"
    share = summary["noise_rate"]["estimate"]
    if nothing_wrong(summary):
        return STEPS[0][1]
    if too_unsure(summary):
        return "Too little was learned to tell wrong labels"
    for bar, sentence in STEPS:
        if share < bar:
            return sentence
    for bar, sentence in MANY:
        if share >= bar:
            return sentence
    number = round(1 / share)
    return f"About one label in {_NUMBERS.get(number, str(number))} looks wrong"


def nothing_wrong(summary: dict[str, Any]) -> bool:
    """The noise rate may well be small and cannot be large, and hardly any label is an issue."""
    rate = summary["noise_rate"]
    return _few_issues(summary) and rate["low"] < MAY_BE_RIGHT and rate["high"] < MAY_BE_WRONG and _has_learned(summary)


def too_unsure(summary: dict[str, Any]) -> bool:
    """Many labels may be wrong, but hardly any can be called so: the classifier is weak."""
    return _few_issues(summary) and (summary["noise_rate"]["high"] >= MAY_BE_WRONG or not _has_learned(summary))


def _has_learned(summary: dict[str, Any]) -> bool:
    """Whether the networks would get so many images right without their labels that they may vouch for these: weak
    ones explain any labels by their own mistakes."""
    quality = summary.get("class_quality", [])
    known = [one for one in quality if one["images"]]
    if not known or len(quality) < 2:
        return True
    images = sum(one["images"] for one in known)
    right, chance = sum(one["images"] * one["sureness"] for one in known) / images, 1 / len(quality)
    return (right - chance) / (1 - chance) >= LEARNED


def _few_issues(summary: dict[str, Any]) -> bool:
    """Hardly any label is an issue, in a run that tells the interval of the noise rate."""
    counts = summary["counts"]
    known = summary["noise_rate"].get("low") is not None
    return known and counts["label_issues"] <= STEPS[0][0] * counts["labelled"]


def kind_of_noise(summary: dict[str, Any]) -> str:
    """How labels go wrong, as a sentence; nothing where hardly any does or the run did not say."""
    kind = summary.get("noise_kind", "")
    if not kind or nothing_wrong(summary) or too_unsure(summary) or summary["noise_rate"]["estimate"] < STEPS[0][0]:
        return ""
    return f"{kind[0].upper()}{kind[1:]}."


def named(text: str) -> str:
    """The name in quotes, isolated: what reads from right to left does not turn the words and numbers around it."""
    return f"“\u2068{legible(text)}\u2069”"


def verdict(summary: dict[str, Any]) -> list[str]:
    """A few sentences: how many suspects, what to do with them, the commonest confusion, the classifier."""
    counts = summary["counts"]
    found = counts["label_issues"]
    sentences = []
    if found:
        sentences.append(
            f"{counted(found, 'image')} of {counts['labelled']:,} {'has' if found == 1 else 'have'} a suspect label: "
            f"{_todo(counts)}."
        )
        if (pure := summary.get("expected_precision")) is not None:
            sentences.append(f"Of these, {100 * pure:.0f} % are expected to be really wrong.")
    else:
        images = "image" if counts["labelled"] == 1 else "images"
        sentences.append(f"None of {counts['labelled']:,} labelled {images} has a suspect label.")
    for pair in summary.get("confusions", [])[:1]:
        share = f"{100 * pair['share']:.1f} %" if pair["share"] >= SMALLEST else "less than 0.1 %"
        sentences.append(
            f"The commonest mix-up: {share} of {named(pair['true'])} are filed under {named(pair['given'])}."
        )
    for pair in summary.get("classes_perhaps_one", [])[:1]:
        one, other = (named(name) for name in pair["classes"])
        sentences.append(f"The classes {one} and {other} are hard to tell apart: perhaps they are one.")
    if sentence := kind_of_noise(summary):
        sentences.append(f"Kind of noise: {sentence[0].lower()}{sentence[1:]}")
    accuracy = summary.get("accuracy", {}).get("test_accuracy")
    if accuracy is not None:
        sentences.append(
            f"The classifier trained along the way gets {100 * accuracy:.1f} % "
            f"of {counted(counts['held_out'], 'held-out image')} right."
        )
    return sentences


def _todo(counts: dict[str, int]) -> str:
    kinds = (
        ("relabel", "can take the suggested label"),
        ("review", "need a look" if counts["review"] != 1 else "needs a look"),
        ("drop", "should be left out"),
    )
    parts = [f"{counts[action]:,} {words}" for action, words in kinds if counts[action]]
    return ", ".join(parts) if parts else "nothing to do"


_NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten"}
