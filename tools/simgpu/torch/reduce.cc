// SPDX-License-Identifier: Apache-2.0
// reduce_kernel<threads, width, ReduceOp<In, Ops, Index, Out, ...>>(ReduceOp): sums, means,
// extremes and where they are, any, all. ReduceOp's members as ATen/native/cuda/Reduce.cuh of
// PyTorch 2.15 has them.
#include <cmath>
#include <limits>
#include <type_traits>

#include "tools/simgpu/torch/element.h"
#include "tools/simgpu/torch/kernels.h"

namespace sgprs::simgpu::torch {
namespace {

enum class Kind { kSum, kMean, kMax, kMin, kArgMax, kArgMin, kAny, kAll };

// Beyond this a launch is not computed. Counts and masks steer programs, so they may be large.
template <typename In>
constexpr int64_t kMostElements = std::is_integral_v<In> ? 1 << 20 : 1 << 14;

// Where the parts of a ReduceOp lie, from the start of its ReduceConfig (14 ints, a bool, an int).
constexpr size_t kInputs = 4;
constexpr size_t kOutputs = 8;
constexpr size_t kConfigBytes = 64;
// OffsetCalculator<n>: int dims; 25 dividers of three ints; 25 times n strides, in bytes.
constexpr size_t kMostDims = 25;
constexpr size_t kDividers = 4;
constexpr size_t kStrides = kDividers + kMostDims * 12;
constexpr size_t CalculatorBytes(size_t tensors) { return kStrides + kMostDims * 4 * tensors; }

class Reader {
 public:
  // `config`: offset of the ReduceConfig, which depends on what is in front of it.
  Reader(const SimgpuLaunch* launch, size_t config) : launch_(launch), config_(config) {}

  int64_t inputs() const { return At<int32_t>(config_ + kInputs); }
  int64_t outputs() const { return At<int32_t>(config_ + kOutputs); }
  const char* source() const { return At<const char*>(Pointers()); }
  char* target() const { return At<char*>(Pointers() + 8); }
  // One pass over all of the input, into one output.
  bool whole() const {
    return At<int64_t>(Pointers() + 48) == 0 && At<uint8_t>(Pointers() + 56) == 0 &&
           At<uint8_t>(Pointers() + 57) != 0 && At<int32_t>(Pointers() + 60) == 1;
  }
  // Byte offset of input `index` within its output's slice.
  int64_t Input(int64_t index) const { return Offset(config_ + kConfigBytes, 1, 0, index); }
  // Byte offsets of output `index`: 0 of the output, 1 of its input slice.
  int64_t Output(size_t tensor, int64_t index) const {
    return Offset(config_ + kConfigBytes + CalculatorBytes(1), 2, tensor, index);
  }

  template <typename T>
  T At(size_t offset) const {
    return Param<T>(launch_, 0, offset);
  }

 private:
  size_t Pointers() const {
    return (config_ + kConfigBytes + CalculatorBytes(1) + CalculatorBytes(2) + 7) / 8 * 8;
  }

  int64_t Offset(size_t calculator, size_t tensors, size_t tensor, int64_t index) const {
    const auto dims = At<int32_t>(calculator);
    int64_t offset = 0;
    for (int32_t dim = 0; dim < dims; ++dim) {
      const auto at = static_cast<size_t>(dim);
      const auto size = static_cast<int64_t>(At<uint32_t>(calculator + kDividers + at * 12));
      if (size <= 0) return 0;
      const auto stride =
          At<uint32_t>(calculator + kStrides + (at * tensors + tensor) * sizeof(uint32_t));
      offset += index % size * stride;
      index /= size;
    }
    return offset;
  }

  const SimgpuLaunch* launch_;
  size_t config_;
};

template <typename T>
bool IsNan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

// The result over values got by `value(i)`, i < count: a number, or an index.
template <Kind kKind, typename Value>
auto Reduce(int64_t count, const Value& value) {
  auto result = value(0);
  int64_t place = 0;
  for (int64_t i = 1; i < count; ++i) {
    const auto next = value(i);
    if constexpr (kKind == Kind::kSum || kKind == Kind::kMean) {
      result += next;
    } else {
      constexpr bool kMaximum =
          kKind == Kind::kMax || kKind == Kind::kArgMax || kKind == Kind::kAny;
      const bool better = kMaximum ? next > result : next < result;
      if (!IsNan(result) && (better || IsNan(next))) {
        result = next;
        place = i;
      }
    }
  }
  if constexpr (kKind == Kind::kArgMax || kKind == Kind::kArgMin) {
    return place;
  } else {
    return result;
  }
}

template <Kind kKind, typename In, size_t kConfig>
void ReduceBody(const SimgpuLaunch* launch) {
  using Out =
      std::conditional_t<kKind == Kind::kArgMax || kKind == Kind::kArgMin, int64_t,
                         std::conditional_t<kKind == Kind::kAny || kKind == Kind::kAll, bool, In>>;
  const Reader reader(launch, kConfig);
  if (!reader.whole() || reader.inputs() <= 0 ||
      reader.inputs() * reader.outputs() > kMostElements<In>) {
    return;
  }
  for (int64_t output = 0; output < reader.outputs(); ++output) {
    const char* slice = reader.source() + reader.Output(1, output);
    const auto value = [&](int64_t i) {
      In element;
      memcpy(&element, slice + reader.Input(i), sizeof(element));
      if constexpr (kKind == Kind::kAny || kKind == Kind::kAll) {
        return Widen(element) != 0 ? 1 : 0;
      } else {
        return Widen(element);
      }
    };
    auto result = Reduce<kKind>(reader.inputs(), value);
    Out out;
    if constexpr (kKind == Kind::kMean) {  // MeanOps{factor}, in the accumulator's type
      const double factor = sizeof(In) == 8 ? reader.template At<double>(0)
                                            : static_cast<double>(reader.template At<float>(0));
      out = Narrow<Out>(static_cast<double>(result) * factor);
    } else {
      out = Narrow<Out>(result);
    }
    memcpy(reader.target() + reader.Output(0, output), &out, sizeof(out));
  }
}

using Body = void (*)(const SimgpuLaunch*);

template <Kind kKind>
Body OfType(Type in, size_t config) {
  return WithType(in, [&]<typename In>() -> Body {
    switch (config) {
      case 4:
        return ReduceBody<kKind, In, 4>;
      case 8:
        return ReduceBody<kKind, In, 8>;
      case 16:
        return ReduceBody<kKind, In, 16>;
      case 24:
        return ReduceBody<kKind, In, 24>;
      default:
        return nullptr;
    }
  });
}

// Behind Ops of `ops` bytes and the accumulator's initial value.
size_t ConfigOffset(size_t ops, size_t accumulator, size_t alignment) {
  const size_t value = (ops + alignment - 1) / alignment * alignment;
  return (value + accumulator + 3) / 4 * 4;
}

std::optional<Type> Within(const std::string& text, std::string_view head) {
  const std::optional<std::string> inside = Inside(text, head);
  return inside ? TypeOf(*inside) : std::nullopt;
}

// Type of the last lambda's first parameter.
std::optional<Type> LambdaType(const std::string& text) {
  const size_t at = text.rfind("{lambda(");
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + 8;
  return TypeOf(std::string_view(text).substr(begin, text.find_first_of(",)", begin) - begin));
}

// An empty Ops with an accumulator of this type.
size_t Simple(Type accumulator) {
  return ConfigOffset(1, BytesOf(accumulator), BytesOf(accumulator));
}

Body FindBody(Type in, const std::string& ops, const std::string& out) {
  const bool same = TypeOf(out) == in;
  if (const auto type = Within(ops, "ArgMaxOps<")) {
    return OfType<Kind::kArgMax>(in, ConfigOffset(1, 16, 8));
  }
  if (const auto type = Within(ops, "ArgMinOps<")) {
    return OfType<Kind::kArgMin>(in, ConfigOffset(1, 16, 8));
  }
  if (const auto type = Within(ops, "MaxNanFunctor<"); type && same) {
    return OfType<Kind::kMax>(in, Simple(*type));
  }
  if (const auto type = Within(ops, "MinNanFunctor<"); type && same) {
    return OfType<Kind::kMin>(in, Simple(*type));
  }
  const std::optional<Type> lambda = LambdaType(ops);
  if (ops.find("sum_functor<") != std::string::npos && lambda && same) {
    return OfType<Kind::kSum>(in, Simple(*lambda));
  }
  if (ops.find("or_kernel_cuda") != std::string::npos && lambda && out == "bool") {
    return OfType<Kind::kAny>(in, Simple(*lambda));
  }
  if (ops.find("and_kernel_cuda") != std::string::npos && lambda && out == "bool") {
    return OfType<Kind::kAll>(in, Simple(*lambda));
  }
  const bool real =
      in == Type::kFloat || in == Type::kDouble || in == Type::kHalf || in == Type::kBfloat16;
  if (ops.find("MeanOps<") != std::string::npos && same && real) {
    const size_t bytes = in == Type::kDouble ? 8 : 4;
    return OfType<Kind::kMean>(in, ConfigOffset(bytes, bytes, bytes));
  }
  return nullptr;
}

}  // namespace

Behaviour FindReduction(const KernelName& name) {
  if (name.kernel != "reduce_kernel" || name.arguments.size() != 3) return {};
  const std::optional<KernelName> op = ParseName(name.arguments[2]);
  if (!op || op->kernel != "ReduceOp" || op->arguments.size() < 4) return {};
  const std::vector<std::string>& of = op->arguments;
  const std::optional<Type> in = TypeOf(of[0]);
  if (!in || of[2] != "unsigned int") return {};
  return {FindBody(*in, of[1], of[3]), nullptr};
}

}  // namespace sgprs::simgpu::torch
