"""Every pixel format against its RGB twin: a wrong conversion would look like label noise to the learner."""

import io
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from image_files import picture, smooth_picture
from PIL import Image, features

from scanmix_cli.data.decode import AnimationWarning, decode_bytes, decode_file, stored_size

SIZE = 48
EXACT, LOSSY = 0, 6


def encoded(image: Image.Image, file_format: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def grey() -> Image.Image:
    return smooth_picture(SIZE, SIZE).convert("L")


def deep_grey(factor: int) -> Image.Image:
    return Image.fromarray(np.asarray(grey()).astype(np.uint16) * np.uint16(factor))


def with_alpha() -> tuple[Image.Image, Image.Image]:
    """A picture that fades out to the right, and what it looks like on white paper."""
    colour = np.asarray(smooth_picture(SIZE, SIZE)).astype(float)
    alpha = np.broadcast_to(np.linspace(255, 0, SIZE), (SIZE, SIZE))
    on_white = colour * alpha[..., None] / 255 + 255 * (1 - alpha[..., None] / 255)
    pixels = np.concatenate([colour, alpha[..., None]], axis=2).astype(np.uint8)
    return Image.fromarray(pixels, "RGBA"), Image.fromarray(np.rint(on_white).astype(np.uint8))


def palette_with_hole() -> tuple[Image.Image, Image.Image]:
    """Four colours, of which the second is transparent."""
    index = np.arange(SIZE * SIZE).reshape(SIZE, SIZE) // 16 % 4
    colours = np.array([[200, 0, 0], [0, 0, 0], [0, 0, 200], [10, 220, 30]], np.uint8)
    image = Image.fromarray(index.astype(np.uint8))
    image.putpalette(colours.tobytes())
    colours[1] = 255
    return image, Image.fromarray(colours[index])


def cases() -> dict[str, Callable[[], tuple[bytes, Image.Image, float]]]:
    """Name to (file, RGB twin, largest deviation)."""
    rgb = smooth_picture(SIZE, SIZE)
    transparent, on_white = with_alpha()
    palette, palette_twin = palette_with_hole()
    one_bit = Image.fromarray(np.arange(SIZE * SIZE).reshape(SIZE, SIZE) % 3 == 0)
    keyed = picture(1, SIZE, SIZE)
    keyed.putpixel((5, 5), (1, 2, 3))
    keyed_twin = keyed.copy()
    keyed_twin.putpixel((5, 5), (255, 255, 255))
    brown = Image.new("CMYK", (SIZE, SIZE), (0, 128, 255, 64))
    depth = Image.fromarray(np.asarray(grey()).astype(np.float32) / 255)
    signed = Image.fromarray(np.asarray(grey()).astype(np.int32) * 1000 - 100_000)
    stretched = np.asarray(grey()).astype(float)
    stretched = np.rint((stretched - stretched.min()) * 255 / (stretched.max() - stretched.min())).astype(np.uint8)
    other_frame = Image.new("RGB", (SIZE, SIZE), "red")
    paletted = rgb.quantize(64)
    return {
        "PNG": lambda: (encoded(rgb, "PNG"), rgb, EXACT),
        "BMP": lambda: (encoded(rgb, "BMP"), rgb, EXACT),
        "PPM": lambda: (encoded(rgb, "PPM"), rgb, EXACT),
        "TIFF": lambda: (encoded(rgb, "TIFF"), rgb, EXACT),
        "TIFF with LZW": lambda: (encoded(rgb, "TIFF", compression="tiff_lzw"), rgb, EXACT),
        "WebP without loss": lambda: (encoded(rgb, "WEBP", lossless=True), rgb, EXACT),
        "WebP": lambda: (encoded(rgb, "WEBP", quality=95), rgb, LOSSY),
        "JPEG": lambda: (encoded(rgb, "JPEG", quality=95), rgb, LOSSY),
        "progressive JPEG": lambda: (encoded(rgb, "JPEG", quality=95, progressive=True), rgb, LOSSY),
        "grey JPEG": lambda: (encoded(grey(), "JPEG", quality=95), grey(), LOSSY),
        "CMYK JPEG": lambda: (encoded(brown, "JPEG", quality=95), brown.convert("RGB"), LOSSY),
        "CMYK TIFF": lambda: (encoded(brown, "TIFF"), brown.convert("RGB"), EXACT),
        "1-bit PNG": lambda: (encoded(one_bit, "PNG"), one_bit.convert("L"), EXACT),
        "1-bit TIFF": lambda: (encoded(one_bit, "TIFF", compression="group4"), one_bit.convert("L"), EXACT),
        "grey PNG": lambda: (encoded(grey(), "PNG"), grey(), EXACT),
        "grey PNG with alpha": lambda: (encoded(on_white.convert("LA"), "PNG"), on_white.convert("L"), EXACT),
        "RGBA PNG": lambda: (encoded(transparent, "PNG"), on_white, 1),
        "RGBA WebP": lambda: (encoded(transparent, "WEBP", lossless=True, exact=True), on_white, 1),
        "RGBA TIFF": lambda: (encoded(transparent, "TIFF"), on_white, 1),
        "palette PNG": lambda: (encoded(paletted, "PNG"), paletted.convert("RGB"), EXACT),
        "palette PNG, transparent": lambda: (encoded(palette, "PNG", transparency=1), palette_twin, EXACT),
        "palette GIF, transparent": lambda: (encoded(palette, "GIF", transparency=1), palette_twin, EXACT),
        "RGB PNG with a transparent colour": lambda: (encoded(keyed, "PNG", transparency=(1, 2, 3)), keyed_twin, EXACT),
        "16-bit PNG": lambda: (encoded(deep_grey(257), "PNG"), grey(), EXACT),
        "16-bit TIFF": lambda: (encoded(deep_grey(257), "TIFF"), grey(), EXACT),
        "12 bits in a 16-bit PNG": lambda: (encoded(deep_grey(16), "PNG"), grey(), 1),
        "8 bits in a 16-bit PNG": lambda: (encoded(deep_grey(1), "PNG"), grey(), EXACT),
        "float TIFF": lambda: (encoded(depth, "TIFF"), grey(), EXACT),
        "signed TIFF": lambda: (encoded(signed, "TIFF"), Image.fromarray(stretched), 1),
        "animated GIF": lambda: (
            encoded(paletted, "GIF", save_all=True, append_images=[other_frame]),
            paletted.convert("RGB"),
            EXACT,
        ),
        "animated WebP": lambda: (
            encoded(rgb, "WEBP", save_all=True, append_images=[other_frame], lossless=True),
            rgb,
            EXACT,
        ),
        "animated PNG": lambda: (encoded(rgb, "PNG", save_all=True, append_images=[other_frame]), rgb, EXACT),
    }


def assert_like(array: np.ndarray, twin: Image.Image, tolerance: float) -> None:
    expected = np.asarray(twin.convert("RGB")).transpose(2, 0, 1)
    assert array.shape == expected.shape
    assert array.dtype == np.uint8
    assert np.abs(array.astype(int) - expected.astype(int)).max() <= tolerance


@pytest.mark.parametrize("name", list(cases()))
@pytest.mark.filterwarnings("ignore::scanmix_cli.data.decode.AnimationWarning")
def test_format_decodes_to_its_twin(name: str) -> None:
    data, twin, tolerance = cases()[name]()
    array, size, *_ = decode_bytes(data, SIZE)
    assert size == (SIZE, SIZE)
    assert_like(array, twin, tolerance)


@pytest.mark.parametrize("after_pixels", [False, True])
@pytest.mark.parametrize("kind", ["zTXt", "iTXt", "iCCP", "many"])
def test_png_with_texts_larger_than_are_unpacked_is_read(kind: str, after_pixels: bool, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 3
    rgb = smooth_picture(SIZE, SIZE)
    plain = encoded(rgb, "PNG", exif=exif)
    packed = zlib.compress(bytes(5_000_000))
    chunks = {
        "zTXt": png_chunk(b"zTXt", b"note\0\0" + packed),
        "iTXt": png_chunk(b"iTXt", b"note\0\1\0en\0note\0" + packed),
        "iCCP": png_chunk(b"iCCP", b"note\0\0" + packed),
        "many": png_chunk(b"tEXt", b"note\0" + b"x" * 1_000_000) * 70,
    }
    at = plain.index(b"IEND") - 4 if after_pixels else 33  # behind the header
    file = tmp_path / "a.png"
    file.write_bytes(plain[:at] + chunks[kind] + plain[at:])
    assert stored_size(file) == (SIZE, SIZE)
    array, *_ = decode_file(file, SIZE)
    assert_like(array, rgb.transpose(Image.Transpose.ROTATE_180), EXACT)


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow was built without AVIF")
def test_avif_decodes() -> None:
    rgb = smooth_picture(SIZE, SIZE)
    assert_like(decode_bytes(encoded(rgb, "AVIF", quality=95), SIZE)[0], rgb, 2 * LOSSY)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("file_format", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_exif_orientation_is_applied(orientation: int, file_format: str) -> None:
    upright = smooth_picture(SIZE, 2 * SIZE)
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = upright.transpose(undo[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"lossless": True} if file_format == "WEBP" else {"quality": 95} if file_format == "JPEG" else {}
    array, size, *_ = decode_bytes(encoded(stored, file_format, exif=exif, **options), SIZE)
    assert size == (SIZE, 2 * SIZE)
    assert_like(array, upright.crop((0, SIZE // 2, SIZE, SIZE // 2 + SIZE)), LOSSY if file_format == "JPEG" else EXACT)


@pytest.mark.parametrize(
    "exif", [b"", b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_damaged_exif_costs_nothing(exif: bytes) -> None:
    rgb = smooth_picture(SIZE, SIZE)
    assert_like(decode_bytes(encoded(rgb, "JPEG", exif=exif, quality=95), SIZE)[0], rgb, LOSSY)


def test_picture_of_the_right_size_keeps_every_value() -> None:
    noise = picture(0, SIZE, SIZE)
    assert_like(decode_bytes(encoded(noise, "PNG"), SIZE)[0], noise, EXACT)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (4, 300), (300, 4), (1, 2000), (SIZE - 1, SIZE), (97, 31)])
def test_odd_shapes_give_a_square(width: int, height: int) -> None:
    array, size, *_ = decode_bytes(encoded(Image.new("RGB", (width, height), (9, 99, 199)), "PNG"), SIZE)
    assert size == (width, height)
    assert_like(array, Image.new("RGB", (SIZE, SIZE), (9, 99, 199)), EXACT)


@pytest.mark.parametrize(("width", "height"), [(200, 100), (100, 201)])
def test_centre_is_cut_out_after_resizing_the_short_side(width: int, height: int) -> None:
    image = smooth_picture(width, height)
    scale = SIZE / min(width, height)
    resized = image.resize((round(width * scale), round(height * scale)), Image.Resampling.BICUBIC)
    left, top = (resized.width - SIZE) // 2, (resized.height - SIZE) // 2
    expected = resized.crop((left, top, left + SIZE, top + SIZE))
    assert_like(decode_bytes(encoded(image, "PNG"), SIZE)[0], expected, 4)


def test_large_jpeg_reduced_by_its_decoder_looks_like_the_whole_one() -> None:
    image = smooth_picture(1600, 1200)
    array, size, *_ = decode_bytes(encoded(image, "JPEG", quality=95), SIZE)
    assert size == (1600, 1200)
    assert_like(array, image.crop((200, 0, 1400, 1200)).resize((SIZE, SIZE), Image.Resampling.BICUBIC), LOSSY)


@pytest.mark.parametrize(
    ("image", "file_format"),
    [(Image.linear_gradient("L").resize((8000, 6000)), "JPEG"), (Image.new("1", (8000, 6000), 1), "PNG")],
    ids=["JPEG", "1-bit PNG"],
)
def test_pictures_of_48_megapixels(image: Image.Image, file_format: str) -> None:
    decoded = decode_bytes(encoded(image, file_format), SIZE)
    assert decoded.size == (8000, 6000)
    twin = image.convert("L").resize((64, 48), Image.Resampling.BOX).crop((8, 0, 56, 48))
    assert_like(decoded.pixels, twin, LOSSY)


def test_first_page_of_several_is_used_and_noted() -> None:
    first = smooth_picture(SIZE, SIZE)
    data = encoded(first, "TIFF", save_all=True, append_images=[picture(1, SIZE, SIZE)])
    with pytest.warns(AnimationWarning, match="several pages, only the first is used"):
        assert_like(decode_bytes(data, SIZE).pixels, first, EXACT)


def test_content_counts_and_not_the_suffix(tmp_path: Path) -> None:
    rgb = smooth_picture(SIZE, SIZE)
    path = tmp_path / "really a webp.jpg"
    path.write_bytes(encoded(rgb, "WEBP", lossless=True))
    assert_like(decode_file(path, SIZE)[0], rgb, EXACT)


def test_animation_is_noted_and_a_still_picture_is_not() -> None:
    still = smooth_picture(SIZE, SIZE)
    with pytest.warns(AnimationWarning, match="only the first frame"):
        decode_bytes(encoded(still, "GIF", save_all=True, append_images=[picture(1, SIZE, SIZE)]), SIZE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decode_bytes(encoded(still, "GIF"), SIZE)
