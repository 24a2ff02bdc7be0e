"""A function that cannot be compiled runs as it is."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from scanmix_cli.engine.compiled import CompiledFunction


def double(x: Tensor) -> Tensor:
    return 2 * x


def test_a_machine_without_a_compiler_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: Callable, dynamic: bool) -> Callable:
        def compiled(x: Tensor) -> Tensor:
            raise RuntimeError("Failed to find C compiler\nlong trace")

        return compiled

    monkeypatch.setattr(torch, "compile", refuse)
    said: list[str] = []
    function = CompiledFunction(double, said.append)
    assert [function(torch.tensor(k)).item() for k in (1, 2)] == [2, 4]
    assert said == ["augmentation is not compiled and slower: RuntimeError: Failed to find C compiler"]


def test_errors_of_the_function_itself_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: function)

    def fail_later(x: Tensor) -> Tensor:
        if x > 1:
            raise torch.OutOfMemoryError
        return x

    function = CompiledFunction(fail_later, pytest.fail)
    assert function(torch.tensor(1)) == 1
    with pytest.raises(torch.OutOfMemoryError):
        function(torch.tensor(2))


def test_many_sizes_do_not_compile_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After eight of them the plain function serves the others."""
    compiled: list[object] = []
    real = torch.compile

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]) -> Callable[..., Tensor]:
        compiled.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", lambda function, dynamic: real(function, dynamic=dynamic, backend=backend))
    function = CompiledFunction(double, pytest.fail)
    for size in range(2, 30):
        assert function(torch.ones(size)).tolist() == [2.0] * size
    assert 1 <= len(compiled) <= 8
