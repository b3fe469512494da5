"""Kernel times of a GPU with the chip of a measured GPU, and other memory."""

from collections.abc import Mapping
from dataclasses import dataclass

from estimator.costs.kernel_tables import SYSTEMS, MeasuredKernels
from simulator.cost.fitted.kernel_tables import KernelTables
from simulator.cost.roofline.hardware import Hardware, find_hardware

# GPUs with the chip and the links of a measured one.
SAME_CHIP: Mapping[str, str] = {
    "a100-40gb": "a100-80gb", "gh200-96gb": "h100-sxm", "gh200-141gb": "h200",
}  # fmt: skip


def kernels_of(gpu: str, engine: str | None) -> KernelTables:
    """Returns the kernel times of a GPU and server.

    Raises ValueError if none were measured there, or on a GPU of the same chip.
    """
    if gpu in SYSTEMS:
        return MeasuredKernels(gpu, engine)
    if gpu not in SAME_CHIP:
        covered = ", ".join((*SYSTEMS, *SAME_CHIP))
        raise ValueError(f"no kernels were measured on {gpu} (only on {covered})")
    measured = SAME_CHIP[gpu]
    tables = MeasuredKernels(measured, engine)
    return OtherMemory(tables, find_hardware(measured), find_hardware(gpu))


@dataclass(frozen=True, eq=False)
class OtherMemory(KernelTables):
    """Measured kernels, less the time that the bytes they read take less in another memory.

    tables: kernels measured on the GPU `measured`. gpu: the GPU with the other memory.
    """

    tables: KernelTables
    measured: Hardware
    gpu: Hardware

    @property
    def name(self) -> str:
        return f"{self.tables.name}, with the memory of {self.gpu.name}"

    @property
    def rereads(self) -> bool:
        return self.tables.rereads

    @property
    def drafting_layer(self) -> float:
        return self.tables.drafting_layer

    def product(self, *, rows: int, outputs: int, inputs: int, stored: float) -> float:
        sizes = {"outputs": outputs, "inputs": inputs, "stored": stored}
        seconds = self.tables.product(rows=rows, **sizes)  # type: ignore[arg-type]
        operations = 2.0 * rows * outputs * inputs
        return self._moved(seconds, outputs * inputs * stored, operations)

    def experts(
        self, *, rows: int, hidden: int, inner: int, count: int, active: int,
        gpus: tuple[int, int], stored: float,
    ) -> float:  # fmt: skip
        sizes = {"hidden": hidden, "inner": inner, "count": count, "active": active}
        seconds = self.tables.experts(rows=rows, gpus=gpus, stored=stored, **sizes)
        values = 3.0 * hidden * inner / (gpus[0] * gpus[1])
        read = min(rows * active, count) * values * stored
        return self._moved(seconds, read, 2 * rows * active * values)

    def attention(
        self, *, batch: int, context: int, heads: int, key_heads: int, head_size: int
    ) -> float:
        sizes = {"heads": heads, "key_heads": key_heads, "head_size": head_size}
        seconds = self.tables.attention(batch=batch, context=context, **sizes)
        return self._moved(seconds, 4.0 * batch * context * key_heads * head_size, 0.0)

    def all_to_all(self, *, rows: int, hidden: int, count: int, active: int, gpus: int) -> float:
        sizes = {"hidden": hidden, "count": count, "active": active}
        return self.tables.all_to_all(rows=rows, gpus=gpus, **sizes)

    def all_reduce(self, *, rows: int, hidden: int, gpus: int) -> float:
        return self.tables.all_reduce(rows=rows, hidden=hidden, gpus=gpus)

    def _moved(self, seconds: float, read: float, operations: float) -> float:
        """Returns a kernel's time with its bytes read from the other memory.

        A kernel that its arithmetic limits saves nothing.
        """
        arithmetic = operations / self.measured.flops("bfloat16")
        before, now = (max(read / gpu.bandwidth, arithmetic) for gpu in (self.measured, self.gpu))
        slowest = seconds * max(1.0, self.measured.bandwidth / self.gpu.bandwidth)
        fastest = seconds * min(1.0, self.measured.bandwidth / self.gpu.bandwidth)
        return min(max(seconds - before + now, fastest), slowest)
