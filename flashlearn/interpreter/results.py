"""Operations that publish what they computed: only where an observer asks for `on_result`."""

from __future__ import annotations

from typing import Any


class PublishedResults:
    """To be put before an `ObservedBuilder` in a class's bases."""

    def _publish(self, kind: str, operation: Any, operands: tuple, result: Any) -> Any:
        for publish in self.memory.events.on_result:
            publish(kind, operation, operands, result)
        return result

    def binary_op(self, lhs, rhs, op):
        return self._publish("binary", op, (lhs, rhs), super().binary_op(lhs, rhs, op))

    def unary_op(self, arg, op):
        return self._publish("unary", op, (arg,), super().unary_op(arg, op))

    def create_fma(self, x, y, z):
        return self._publish("fma", None, (x, y, z), super().create_fma(x, y, z))

    def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
        result = super().create_dot(a, b, d, input_precision, max_num_imprecise_acc)
        return self._publish("dot", None, (a, b, d), result)

    def cast_impl(self, src, dst_type):
        return self._publish("cast", None, (src,), super().cast_impl(src, dst_type))
