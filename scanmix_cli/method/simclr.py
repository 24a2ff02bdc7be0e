"""Stage A1, small images: SimCLR pre-training (NT-Xent, Chen et al. 2020), with two or more views of every image."""

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import gather
from scanmix_cli.method.images import Augmentation, ImageSet
from scanmix_cli.method.losses import cosine_rate, nt_xent
from scanmix_cli.method.networks import fixed_order, set_rate, sgd
from scanmix_cli.method.settings import ContrastiveSettings
from scanmix_cli.models.network import ContrastiveNet


def train_simclr(net: ContrastiveNet, images: ImageSet, settings: ContrastiveSettings, context: Context) -> None:
    """Train `net` in place; labels are not used."""
    optimizer = sgd(list(net.parameters()), settings.learning_rate, settings.momentum, settings.weight_decay, context)
    view = Augmentation(images, settings.view, context, crop=settings.crop)

    def step(pixels: Tensor) -> Tensor:
        """One gradient step on images (B, 3, H, W), some views each; returns the loss."""
        inputs = view(torch.cat([pixels] * settings.views), parts=settings.views)
        with context.compute.autocast():
            outputs = net(inputs)
        seen = gather(outputs, parts=settings.views).chunk(settings.views)
        loss = nt_xent(seen, settings.temperature, settings.symmetric, settings.decoupled)
        context.descend(loss, optimizer)
        return loss.detach()

    captured, everything = context.captured(step, summable=False), torch.arange(len(images), device=context.device)
    net.train()
    for epoch in context.epochs("simclr", settings.epochs, net=net, optimizer=optimizer):
        rate = cosine_rate(settings.learning_rate, settings.final_rate_share, epoch.fraction)
        batches = fixed_order(images.shuffled(everything, context), settings.batch_size)
        total = torch.zeros((), device=context.device)
        for k, inputs in enumerate(images.feed(batches), start=epoch.index * len(batches) + 1):
            set_rate(optimizer, rate * min(k / max(settings.rising_steps, 1), 1.0))
            total += captured(*inputs)
        context.log(loss=(total / len(batches)).item())
