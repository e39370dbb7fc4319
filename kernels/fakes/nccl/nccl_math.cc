// The fake NCCL's arithmetic: each step is rounded to the type, as on a GPU.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/fakes/nccl/nccl_objects.h"

namespace railgauge::fake {
namespace {

// A small floating-point type: bits of its exponent and fraction.
struct Format {
  int exponent_bits;
  int fraction_bits;
};

Format format_of(nc::DataType type) {
  switch (type) {
    case nc::kFloat16:
      return {5, 10};
    case nc::kBfloat16:
      return {8, 7};
    case nc::kFloat8e4m3:
      return {4, 3};
    default:
      return {5, 2};
  }
}

double decode(std::uint64_t bits, Format format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const auto fraction = static_cast<double>(bits & ((1U << format.fraction_bits) - 1U));
  const int exponent =
      static_cast<int>(bits >> format.fraction_bits & ((1U << format.exponent_bits) - 1U));
  const double one = exponent == 0 ? 0 : std::ldexp(1, format.fraction_bits);
  const double value =
      std::ldexp(one + fraction, std::max(exponent, 1) - bias - format.fraction_bits);
  return (bits >> (format.exponent_bits + format.fraction_bits) & 1U) != 0 ? -value : value;
}

// To the nearest, ties to even. Too large a number wraps to something wrong, which a test sees.
std::uint64_t encode(double value, Format format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint64_t sign =
      std::signbit(value) ? 1ULL << (format.exponent_bits + format.fraction_bits) : 0;
  int power = 0;
  std::frexp(value, &power);
  const int exponent = std::max(power - 1, 1 - bias);
  const double scaled = std::ldexp(std::abs(value), format.fraction_bits - exponent);
  const auto significand = static_cast<std::uint64_t>(std::nearbyint(scaled));
  // A carry out of the fraction raises the exponent by itself.
  const auto biased = static_cast<std::uint64_t>(exponent + bias - 1);
  const bool normal = significand >> static_cast<unsigned>(format.fraction_bits) != 0;
  return sign | (normal ? (biased << static_cast<unsigned>(format.fraction_bits)) + significand
                        : significand);
}

template <class T>
T combine(T a, T b, nc::RedOp op) {
  switch (op) {
    case nc::kProd:
      return static_cast<T>(a * b);
    case nc::kMax:
      return std::max(a, b);
    case nc::kMin:
      return std::min(a, b);
    default:
      return static_cast<T>(a + b);
  }
}

// Integers wrap: signed ones are added as unsigned ones.
template <class T>
T combine_integers(T a, T b, nc::RedOp op) {
  if (op == nc::kMax || op == nc::kMin) return combine(a, b, op);
  return static_cast<T>(combine(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), op));
}

template <class T>
Bytes reduce_as(std::span<const Bytes> inputs, nc::RedOp op) {
  Bytes result = inputs.front();
  for (std::size_t at = 0; at + sizeof(T) <= result.size(); at += sizeof(T)) {
    const auto element = [at](const Bytes& bytes) {
      T value{};
      std::memcpy(&value, bytes.data() + at, sizeof value);
      return value;
    };
    T sum = element(inputs.front());
    for (const Bytes& next : inputs.subspan(1)) {
      if constexpr (std::is_integral_v<T>)
        sum = combine_integers(sum, element(next), op);
      else
        sum = combine(sum, element(next), op);
    }
    if (op == nc::kAvg) sum = static_cast<T>(sum / static_cast<T>(inputs.size()));
    std::memcpy(result.data() + at, &sum, sizeof sum);
  }
  return result;
}

template <class Word>
Bytes reduce_small(std::span<const Bytes> inputs, nc::RedOp op, Format format) {
  Bytes result = inputs.front();
  for (std::size_t at = 0; at + sizeof(Word) <= result.size(); at += sizeof(Word)) {
    const auto element = [at, format](const Bytes& bytes) {
      Word value{};
      std::memcpy(&value, bytes.data() + at, sizeof value);
      return decode(value, format);
    };
    double sum = element(inputs.front());
    for (const Bytes& next : inputs.subspan(1))
      sum = decode(encode(combine(sum, element(next), op), format), format);
    if (op == nc::kAvg) sum /= static_cast<double>(inputs.size());
    const auto bits = static_cast<Word>(encode(sum, format));
    std::memcpy(result.data() + at, &bits, sizeof bits);
  }
  return result;
}

}  // namespace

std::size_t bytes_of_type(nc::DataType type) {
  switch (type) {
    case nc::kInt8:
    case nc::kUint8:
    case nc::kFloat8e4m3:
    case nc::kFloat8e5m2:
      return 1;
    case nc::kFloat16:
    case nc::kBfloat16:
      return 2;
    case nc::kInt64:
    case nc::kUint64:
    case nc::kFloat64:
      return 8;
    default:
      return 4;
  }
}

Bytes reduce(std::span<const Bytes> inputs, nc::DataType type, nc::RedOp op) {
  switch (type) {
    case nc::kInt8:
      return reduce_as<std::int8_t>(inputs, op);
    case nc::kUint8:
      return reduce_as<std::uint8_t>(inputs, op);
    case nc::kInt32:
      return reduce_as<std::int32_t>(inputs, op);
    case nc::kUint32:
      return reduce_as<std::uint32_t>(inputs, op);
    case nc::kInt64:
      return reduce_as<std::int64_t>(inputs, op);
    case nc::kUint64:
      return reduce_as<std::uint64_t>(inputs, op);
    case nc::kFloat32:
      return reduce_as<float>(inputs, op);
    case nc::kFloat64:
      return reduce_as<double>(inputs, op);
    case nc::kFloat16:
    case nc::kBfloat16:
      return reduce_small<std::uint16_t>(inputs, op, format_of(type));
    default:
      return reduce_small<std::uint8_t>(inputs, op, format_of(type));
  }
}

}  // namespace railgauge::fake
