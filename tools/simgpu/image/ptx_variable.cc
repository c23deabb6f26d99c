// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/image/ptx_variable.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

namespace sgprs::simgpu {
namespace {

constexpr size_t kMaxDimensions = 8;

struct ElementType {
  std::string_view name;
  uint32_t size_bytes;
  bool real;
};
constexpr ElementType kTypes[] = {
    {".b8", 1, false},      {".u8", 1, false},         {".s8", 1, false},   {".b16", 2, false},
    {".u16", 2, false},     {".s16", 2, false},        {".f16", 2, false},  {".bf16", 2, false},
    {".e4m3x2", 2, false},  {".e5m2x2", 2, false},     {".b32", 4, false},  {".u32", 4, false},
    {".s32", 4, false},     {".f32", 4, true},         {".tf32", 4, false}, {".f16x2", 4, false},
    {".bf16x2", 4, false},  {".b64", 8, false},        {".u64", 8, false},  {".s64", 8, false},
    {".f64", 8, true},      {".b128", 16, false},      {".pred", 1, false}, {".texref", 8, false},
    {".surfref", 8, false}, {".samplerref", 8, false},
};

// A constant of an initialiser as PTX writes it.
struct Literal {
  enum class Kind { kInteger, kBits32, kBits64, kDecimal };
  Kind kind;
  uint64_t bits;
  double decimal;
};

template <typename T>
std::optional<T> Parse(std::string_view digits, int base) {
  T value = 0;
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value, base);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<Literal> ParseLiteral(std::string_view text) {
  if (text.size() > 2 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    if (mark == 'f' && text.size() == 10) {
      if (auto bits = Parse<uint64_t>(text.substr(2), 16))
        return Literal{Literal::Kind::kBits32, *bits, 0};
    }
    if (mark == 'd' && text.size() == 18) {
      if (auto bits = Parse<uint64_t>(text.substr(2), 16))
        return Literal{Literal::Kind::kBits64, *bits, 0};
    }
  }
  if (text.find('.') != std::string_view::npos) {
    double decimal = 0;
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, decimal);
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    return Literal{Literal::Kind::kDecimal, 0, decimal};
  }
  while (!text.empty() && (text.back() | 0x20) == 'u') text.remove_suffix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    text.remove_prefix(base == 8 ? 1 : 2);
  }
  if (auto bits = Parse<uint64_t>(text, base)) return Literal{Literal::Kind::kInteger, *bits, 0};
  return std::nullopt;
}

// The bytes (little endian) that `literal` is in an element of `type`.
uint64_t ElementBits(const Literal& literal, bool negative, const ElementType& type) {
  const bool wide = type.size_bytes == 8;
  const double sign = negative ? -1 : 1;
  const auto real_bits = [&](double value) -> uint64_t {
    if (wide) return std::bit_cast<uint64_t>(value);
    if (type.size_bytes != 4) return 0;
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  };
  switch (literal.kind) {
    case Literal::Kind::kInteger:
      if (type.real) return real_bits(sign * static_cast<double>(literal.bits));
      return negative ? ~literal.bits + 1 : literal.bits;
    case Literal::Kind::kBits32:
      if (!wide) return negative ? literal.bits ^ 0x80000000u : literal.bits;
      return real_bits(sign * std::bit_cast<float>(static_cast<uint32_t>(literal.bits)));
    case Literal::Kind::kBits64:
      if (wide) return negative ? literal.bits ^ (uint64_t{1} << 63) : literal.bits;
      return real_bits(sign * std::bit_cast<double>(literal.bits));
    case Literal::Kind::kDecimal:
      return real_bits(sign * literal.decimal);
  }
  return 0;
}

// Reads `= value` or `= { ... }`, nested as the dimensions are.
class InitialiserReader {
 public:
  InitialiserReader(PtxTokens& tokens, const ElementType& type, std::vector<uint64_t> dimensions,
                    uint64_t budget_bytes)
      : tokens_(tokens), type_(type), dimensions_(std::move(dimensions)), budget_(budget_bytes) {
    open_ended_ = !dimensions_.empty() && dimensions_[0] == 0;
    if (!open_ended_) Grow(Stride(0) * (dimensions_.empty() ? 1 : dimensions_[0]));
  }

  std::vector<uint8_t> Read() {
    if (tokens_.Peek().kind == PtxToken::Kind::kString) {
      ReadString();
    } else if (tokens_.Accept("{")) {
      ReadList(0, 0);
    } else {
      ReadValue(0);
    }
    if (open_ended_) Grow(RoundUp(bytes_.size(), std::max<uint64_t>(Stride(0), 1)));
    return std::move(bytes_);
  }

 private:
  // Bytes of one element of dimension `level`.
  uint64_t Stride(size_t level) const {
    uint64_t bytes = type_.size_bytes;
    for (size_t i = level + 1; i < dimensions_.size(); ++i) bytes *= dimensions_[i];
    return bytes;
  }
  static uint64_t RoundUp(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
  }

  bool Grow(uint64_t bytes) {
    if (bytes > budget_) {
      tokens_.Fail("initial values of more than " + std::to_string(kMaxInitialBytes) + " bytes");
      return false;
    }
    if (bytes > bytes_.size()) bytes_.resize(bytes);
    return true;
  }

  bool Room(uint64_t at, uint64_t bytes) {
    if (at <= bytes_.size() && bytes <= bytes_.size() - at) return true;
    if (open_ended_ && at <= kMaxInitialBytes) return Grow(at + bytes);
    tokens_.Fail("more initial values than elements");
    return false;
  }

  void ReadString() {
    const std::string_view text = tokens_.Next().text;
    if (Room(0, text.size()) && !text.empty()) std::memcpy(bytes_.data(), text.data(), text.size());
  }

  void ReadList(size_t level, uint64_t at) {
    while (!tokens_.AtEnd() && !tokens_.Accept("}")) {
      if (tokens_.Accept("{")) {
        if (level + 1 >= dimensions_.size()) return tokens_.Fail("initial values nest too deep");
        ReadList(level + 1, at);
        at += Stride(level);
      } else {
        ReadValue(at);
        at += type_.size_bytes;
      }
      if (!tokens_.Peek().Is("}")) tokens_.Expect(",");
    }
  }

  void ReadValue(uint64_t at) {
    const bool negative = tokens_.Accept("-");
    const PtxToken first = tokens_.Next();
    std::optional<Literal> literal;
    if (first.kind == PtxToken::Kind::kNumber) {
      literal = ParseLiteral(first.text);
      if (!literal) return tokens_.Fail("bad constant '" + std::string(first.text) + "'");
    }
    // Symbols and expressions: `generic(name)`, `name+4`, `0xFF(name)`; their value is unknown
    // here.
    uint64_t depth = 0;
    while (!tokens_.AtEnd()) {
      const PtxToken& token = tokens_.Peek();
      if (depth == 0 && (token.Is(",") || token.Is("}") || token.Is(";"))) break;
      if (token.Is("(")) ++depth;
      if (token.Is(")") && depth > 0) --depth;
      literal.reset();
      tokens_.Next();
    }
    if (!Room(at, type_.size_bytes) || !literal) return;
    const uint64_t bits = ElementBits(*literal, negative, type_);
    std::memcpy(bytes_.data() + at, &bits, std::min<size_t>(type_.size_bytes, sizeof(bits)));
  }

  PtxTokens& tokens_;
  const ElementType& type_;
  std::vector<uint64_t> dimensions_;
  uint64_t budget_;
  bool open_ended_ = false;
  std::vector<uint8_t> bytes_;
};

// What stands before the name.
struct Attributes {
  const ElementType* type = nullptr;
  uint64_t align_bytes = 0;
  uint64_t vector = 1;
};

uint64_t ReadAlign(PtxTokens& tokens) {
  const uint64_t align = tokens.ExpectNumber();
  if (!std::has_single_bit(align) || align > 4096) tokens.Fail("bad alignment");
  return align;
}

Attributes ReadAttributes(PtxTokens& tokens) {
  Attributes result;
  bool pointer = false;  // `.param .u64 .ptr .global .align 16`: the alignment of what it points to
  while (tokens.Peek().kind == PtxToken::Kind::kDirective) {
    const std::string_view text = tokens.Next().text;
    if (text == ".align") {
      const uint64_t align = ReadAlign(tokens);
      if (!pointer) result.align_bytes = align;
    } else if (text == ".attribute") {
      tokens.SkipBalanced("(", ")");
    } else if (text == ".ptr") {
      pointer = true;
    } else if (text == ".v2" || text == ".v4" || text == ".v8") {
      result.vector = static_cast<uint64_t>(text[2] - '0');
    } else if (!pointer) {
      const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                      [&](const ElementType& entry) { return entry.name == text; });
      if (type == std::end(kTypes)) tokens.Fail("unknown type '" + std::string(text) + "'");
      if (type != std::end(kTypes)) result.type = type;
    }
  }
  return result;
}

std::vector<uint64_t> ReadDimensions(PtxTokens& tokens) {
  std::vector<uint64_t> dimensions;
  while (tokens.Accept("[")) {
    if (dimensions.size() == kMaxDimensions) tokens.Fail("too many dimensions");
    const bool empty = tokens.Peek().Is("]");
    if (empty && !dimensions.empty()) tokens.Fail("only the first dimension may be open");
    const uint64_t length = empty ? 0 : tokens.ExpectNumber();
    dimensions.push_back(length);
    tokens.Expect("]");
  }
  return dimensions;
}

// The name and what follows it.
PtxVariable ReadNamed(PtxTokens& tokens, const Attributes& attributes,
                      uint64_t& initial_budget_bytes) {
  PtxVariable variable;
  const PtxToken name = tokens.Next();
  if (name.kind != PtxToken::Kind::kName) tokens.Fail("name of a variable expected");
  if (attributes.type == nullptr) tokens.Fail("variable without a type");
  std::vector<uint64_t> dimensions = ReadDimensions(tokens);
  if (!tokens.status().ok() || attributes.type == nullptr) return variable;

  variable.name = name.text;
  uint64_t size = attributes.type->size_bytes * attributes.vector;
  variable.align_bytes = std::max(attributes.align_bytes, size);
  const bool empty = std::find(dimensions.begin(), dimensions.end(), 0) != dimensions.end();
  for (const uint64_t length : dimensions) {
    if (length != 0 && size > kMaxVariableBytes / length) {
      tokens.Fail("'" + std::string(name.text) + "' is too large");
      return variable;
    }
    size *= std::max<uint64_t>(length, 1);  // an open length counts as one in the check
  }
  if (empty) size = 0;
  if (attributes.vector > 1) dimensions.push_back(attributes.vector);
  if (tokens.Accept("=")) {
    InitialiserReader reader(tokens, *attributes.type, std::move(dimensions), initial_budget_bytes);
    variable.initial = reader.Read();
    size = variable.initial.size();
    if (!tokens.status().ok()) return variable;
    initial_budget_bytes -= size;
  }
  variable.size_bytes = size;
  return variable;
}

}  // namespace

PtxVariable ReadPtxVariable(PtxTokens& tokens, uint64_t& initial_budget_bytes) {
  return ReadNamed(tokens, ReadAttributes(tokens), initial_budget_bytes);
}

std::vector<PtxVariable> ReadPtxVariables(PtxTokens& tokens, uint64_t& initial_budget_bytes) {
  std::vector<PtxVariable> variables;
  const Attributes attributes = ReadAttributes(tokens);
  do {
    variables.push_back(ReadNamed(tokens, attributes, initial_budget_bytes));
  } while (tokens.Accept(","));
  tokens.Expect(";");
  if (!tokens.status().ok()) variables.clear();
  return variables;
}

}  // namespace sgprs::simgpu
