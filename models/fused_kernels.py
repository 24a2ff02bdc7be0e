"""Triton kernels behind `fused_norm`: batch norm, optional addition and ReLU in as few passes over memory as possible.

Tensors are channels_last and seen as matrices: one row a pixel, C channels (a power of two) a row. Statistics belong to
a group of the batch: `rows` consecutive rows, the second grid axis. A tile is TILE full rows, contiguous in memory.
Reductions sweep the tensor backwards, so that the element-wise pass after them starts on what the cache still holds.
Sums go through the array `sums` (2, groups, parts, C) of partial results; sizes are not specialised, so another batch
size does not compile again.
"""

import triton
import triton.language as tl

SIZES = ["rows", "tiles", "parts"]


@triton.jit(do_not_specialize=SIZES)
def reduce_moments(x, shift, sums, rows, tiles, TILE: tl.constexpr, C: tl.constexpr):  # type: ignore[no-untyped-def]
    """Partial sums of x - shift and of its square; a shift near the mean keeps the variance free of cancellation."""
    part, group = tl.program_id(0), tl.program_id(1)
    parts, groups = tl.num_programs(0), tl.num_programs(1)
    channel = tl.arange(0, C)
    within = tl.arange(0, TILE)[:, None] * C + channel[None, :]
    center = tl.load(shift + channel).to(tl.float32)[None, :]
    total = tl.zeros([TILE, C], tl.float32)
    square = tl.zeros([TILE, C], tl.float32)
    for tile in tl.range(part, tiles, parts, num_stages=3):  # loads ahead of sums
        row = (tiles - 1 - tile) * TILE
        inside = (row + tl.arange(0, TILE) < rows)[:, None]
        start = (group * rows + row).to(tl.int64) * C
        value = tl.load(x + start + within, mask=inside, other=0.0).to(tl.float32)
        value = tl.where(inside, value - center, 0.0)
        total += value
        square += value * value
    out = (group * parts + part) * C + channel
    tl.store(sums + out, tl.sum(total, 0))
    tl.store(sums + groups * parts * C + out, tl.sum(square, 0))


@triton.jit(do_not_specialize=SIZES)
def finish_moments(  # type: ignore[no-untyped-def]
    sums, weight, bias, running_mean, running_var, tracked, affine, rows, parts, eps, momentum,
    GROUPS: tl.constexpr, C: tl.constexpr, PARTS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Rows of `affine` (4, groups, C): scale, offset, mean, 1 / deviation. Running statistics move once a group, in
    order, by nn.BatchNorm2d's rule; `tracked` counts the groups."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    gamma = tl.load(weight + channel).to(tl.float32)
    beta = tl.load(bias + channel).to(tl.float32)
    shift = tl.load(running_mean + channel).to(tl.float32)
    kept_mean = shift
    kept_var = tl.load(running_var + channel).to(tl.float32)
    for group in range(GROUPS):
        total = tl.zeros([PARTS, CHANNELS], tl.float32)
        square = tl.zeros([PARTS, CHANNELS], tl.float32)
        for first in range(0, parts, PARTS):
            part = first + tl.arange(0, PARTS)
            place = (group * parts + part)[:, None] * C + channel[None, :]
            inside = (part < parts)[:, None]
            total += tl.load(sums + place, mask=inside, other=0.0)
            square += tl.load(sums + GROUPS * parts * C + place, mask=inside, other=0.0)
        away = tl.sum(total, 0) / rows
        mean = shift + away
        var = tl.sum(square, 0) / rows - away * away
        var = tl.where(var < 0, 0.0, var)  # unlike a maximum, keeps NaN
        inverse = 1.0 / tl.sqrt(var + eps)
        kept_mean += momentum * (mean - kept_mean)
        kept_var += momentum * (var * (rows / (rows - 1.0)) - kept_var)
        out = affine + group * C + channel
        tl.store(out, gamma * inverse)
        tl.store(out + GROUPS * C, beta - mean * gamma * inverse)
        tl.store(out + 2 * GROUPS * C, mean)
        tl.store(out + 3 * GROUPS * C, inverse)
    tl.store(running_mean + channel, kept_mean)
    tl.store(running_var + channel, kept_var)
    if tl.program_id(0) == 0:
        tl.store(tracked, tl.load(tracked) + GROUPS)


@triton.jit
def running_affine(  # type: ignore[no-untyped-def]
    weight, bias, running_mean, running_var, affine, eps, C: tl.constexpr
):
    """Evaluation mode: rows of `affine` (2, 1, C), scale and offset of the running statistics."""
    channel = tl.arange(0, C)
    scale = tl.load(weight + channel).to(tl.float32) / tl.sqrt(tl.load(running_var + channel).to(tl.float32) + eps)
    mean = tl.load(running_mean + channel).to(tl.float32)
    tl.store(affine + channel, scale)
    tl.store(affine + C + channel, tl.load(bias + channel).to(tl.float32) - mean * scale)


@triton.jit(do_not_specialize=SIZES)
def apply_affine(  # type: ignore[no-untyped-def]
    x, residual, affine, residual_affine, y, rows, ADD: tl.constexpr, TILE: tl.constexpr, C: tl.constexpr
):
    """y = ReLU(scale * x + offset + added). ADD 0: nothing, 1: the residual, 2: the residual under its own affine."""
    group, groups = tl.program_id(1), tl.num_programs(1)
    channel = tl.arange(0, C)
    row = tl.program_id(0) * TILE
    inside = (row + tl.arange(0, TILE) < rows)[:, None]
    start = (group * rows + row).to(tl.int64) * C
    within = tl.arange(0, TILE)[:, None] * C + channel[None, :]
    scale = tl.load(affine + group * C + channel)[None, :]
    offset = tl.load(affine + (groups + group) * C + channel)[None, :]
    value = tl.load(x + start + within, mask=inside, other=0.0).to(tl.float32) * scale + offset
    if ADD == 1:
        value += tl.load(residual + start + within, mask=inside, other=0.0).to(tl.float32)
    if ADD == 2:
        scale = tl.load(residual_affine + group * C + channel)[None, :]
        offset = tl.load(residual_affine + (groups + group) * C + channel)[None, :]
        value += tl.load(residual + start + within, mask=inside, other=0.0).to(tl.float32) * scale + offset
    value = tl.where(value < 0, 0.0, value)  # unlike a maximum, keeps NaN
    tl.store(y + start + within, value.to(y.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=SIZES)
def reduce_gradients(  # type: ignore[no-untyped-def]
    dy, x, residual, y, affine, residual_affine, dz, sums, residual_sums, rows, tiles,
    ADD: tl.constexpr, TILE: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Partial sums of dz and of dz * normalised x, where dz is dy behind the ReLU.

    Without an addition the ReLU's mask is computed again from x; with one it is read off y, and dz is stored, being the
    gradient of the residual (ADD 1) or what the second norm starts from (ADD 2).
    """
    part, group = tl.program_id(0), tl.program_id(1)
    parts, groups = tl.num_programs(0), tl.num_programs(1)
    channel = tl.arange(0, C)
    within = tl.arange(0, TILE)[:, None] * C + channel[None, :]
    scale = tl.load(affine + group * C + channel)[None, :]
    offset = tl.load(affine + (groups + group) * C + channel)[None, :]
    mean = tl.load(affine + (2 * groups + group) * C + channel)[None, :]
    inverse = tl.load(affine + (3 * groups + group) * C + channel)[None, :]
    total = tl.zeros([TILE, C], tl.float32)
    product = tl.zeros([TILE, C], tl.float32)
    if ADD == 2:
        residual_mean = tl.load(residual_affine + (2 * groups + group) * C + channel)[None, :]
        residual_inverse = tl.load(residual_affine + (3 * groups + group) * C + channel)[None, :]
        residual_product = tl.zeros([TILE, C], tl.float32)
    for tile in tl.range(part, tiles, parts, num_stages=3):  # loads ahead of sums
        row = (tiles - 1 - tile) * TILE
        inside = (row + tl.arange(0, TILE) < rows)[:, None]
        start = (group * rows + row).to(tl.int64) * C
        gradient = tl.load(dy + start + within, mask=inside, other=0.0).to(tl.float32)
        value = tl.load(x + start + within, mask=inside, other=0.0).to(tl.float32)
        if ADD == 0:
            gradient = tl.where(value * scale + offset > 0, gradient, 0.0)
        else:
            gradient = tl.where(tl.load(y + start + within, mask=inside, other=0.0) > 0, gradient, 0.0)
            stored = gradient.to(dz.dtype.element_ty)
            tl.store(dz + start + within, stored, mask=inside)
            gradient = stored.to(tl.float32)
        total += gradient
        product += gradient * ((value - mean) * inverse)
        if ADD == 2:
            other = tl.load(residual + start + within, mask=inside, other=0.0).to(tl.float32)
            residual_product += gradient * ((other - residual_mean) * residual_inverse)
    out = (group * parts + part) * C + channel
    column = tl.sum(total, 0)
    tl.store(sums + out, column)
    tl.store(sums + groups * parts * C + out, tl.sum(product, 0))
    if ADD == 2:
        tl.store(residual_sums + out, column)
        tl.store(residual_sums + groups * parts * C + out, tl.sum(residual_product, 0))


@triton.jit(do_not_specialize=SIZES)
def finish_gradients(  # type: ignore[no-untyped-def]
    sums, affine, linear, dweight, dbias, rows, parts,
    GROUPS: tl.constexpr, C: tl.constexpr, PARTS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Rows of `linear` (3, groups, C): factors a, b, k of dx = a * dz + b * x + k; gradients of weight and bias."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    weight_total = tl.zeros([CHANNELS], tl.float32)
    bias_total = tl.zeros([CHANNELS], tl.float32)
    for group in range(GROUPS):
        total = tl.zeros([PARTS, CHANNELS], tl.float32)
        product = tl.zeros([PARTS, CHANNELS], tl.float32)
        for first in range(0, parts, PARTS):
            part = first + tl.arange(0, PARTS)
            place = (group * parts + part)[:, None] * C + channel[None, :]
            inside = (part < parts)[:, None]
            total += tl.load(sums + place, mask=inside, other=0.0)
            product += tl.load(sums + GROUPS * parts * C + place, mask=inside, other=0.0)
        bias_sum, weight_sum = tl.sum(total, 0), tl.sum(product, 0)
        scale = tl.load(affine + group * C + channel)
        mean = tl.load(affine + (2 * GROUPS + group) * C + channel)
        inverse = tl.load(affine + (3 * GROUPS + group) * C + channel)
        slope = -scale * inverse * weight_sum / rows
        out = linear + group * C + channel
        tl.store(out, scale)
        tl.store(out + GROUPS * C, slope)
        tl.store(out + 2 * GROUPS * C, -scale * bias_sum / rows - slope * mean)
        weight_total += weight_sum
        bias_total += bias_sum
    tl.store(dweight + channel, weight_total)
    tl.store(dbias + channel, bias_total)


@triton.jit(do_not_specialize=SIZES)
def apply_gradients(  # type: ignore[no-untyped-def]
    dz, x, residual, affine, linear, residual_linear, dx, dresidual, rows,
    ADD: tl.constexpr, TILE: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """dx = a * dz + b * x + k, and the same for a normalised residual (ADD 2). With ADD 0, dz is dy before the ReLU."""
    group, groups = tl.program_id(1), tl.num_programs(1)
    channel = tl.arange(0, C)
    row = tl.program_id(0) * TILE
    inside = (row + tl.arange(0, TILE) < rows)[:, None]
    start = (group * rows + row).to(tl.int64) * C
    within = tl.arange(0, TILE)[:, None] * C + channel[None, :]
    gradient = tl.load(dz + start + within, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(x + start + within, mask=inside, other=0.0).to(tl.float32)
    if ADD == 0:
        scale = tl.load(affine + group * C + channel)[None, :]
        offset = tl.load(affine + (groups + group) * C + channel)[None, :]
        gradient = tl.where(value * scale + offset > 0, gradient, 0.0)
    a = tl.load(linear + group * C + channel)[None, :]
    b = tl.load(linear + (groups + group) * C + channel)[None, :]
    k = tl.load(linear + (2 * groups + group) * C + channel)[None, :]
    tl.store(dx + start + within, (a * gradient + b * value + k).to(dx.dtype.element_ty), mask=inside)
    if ADD == 2:
        a = tl.load(residual_linear + group * C + channel)[None, :]
        b = tl.load(residual_linear + (groups + group) * C + channel)[None, :]
        k = tl.load(residual_linear + (2 * groups + group) * C + channel)[None, :]
        value = tl.load(residual + start + within, mask=inside, other=0.0).to(tl.float32)
        tl.store(dresidual + start + within, (a * gradient + b * value + k).to(dresidual.dtype.element_ty), mask=inside)
