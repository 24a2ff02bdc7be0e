import torch

from scanmix_cli.engine.overlap import side_by_side


def test_without_a_gpu_one_comes_after_the_other() -> None:
    done: list[str] = []

    def work(name: str) -> str:
        done.append(name)
        return name

    for pays in (True, False):
        assert side_by_side(torch.device("cpu"), lambda: work("a"), lambda: work("b"), pays) == ("a", "b")
    assert done == ["a", "b"] * 2
