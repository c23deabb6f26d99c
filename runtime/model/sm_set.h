// SPDX-License-Identifier: Apache-2.0
// A set of SMs of one device (at most 256), as a bit mask.
#ifndef SGPRS_RUNTIME_MODEL_SM_SET_H_
#define SGPRS_RUNTIME_MODEL_SM_SET_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sgprs::model {

inline constexpr uint32_t kMaxSms = 256;

class SmSet {
 public:
  static constexpr size_t kWords = kMaxSms / 64;

  SmSet() = default;
  explicit SmSet(const uint64_t (&words)[kWords]) {
    for (size_t i = 0; i < kWords; ++i) words_[i] = words[i];
  }
  // SMs first .. first + count - 1.
  static SmSet Range(uint32_t first, uint32_t count) {
    SmSet set;
    for (uint32_t sm = first; sm < first + count && sm < kMaxSms; ++sm) set.Add(sm);
    return set;
  }

  void Add(uint32_t sm) { words_[sm / 64] |= uint64_t{1} << (sm % 64); }
  bool Has(uint32_t sm) const { return ((words_[sm / 64] >> (sm % 64)) & 1) != 0; }
  uint32_t Count() const {
    uint32_t count = 0;
    for (uint64_t word : words_) count += static_cast<uint32_t>(std::popcount(word));
    return count;
  }
  bool Empty() const { return Count() == 0; }
  // No SM at or beyond `sm_count`.
  bool Within(uint32_t sm_count) const { return (*this - Range(0, sm_count)).Empty(); }

  friend SmSet operator&(const SmSet& a, const SmSet& b) {
    SmSet set;
    for (size_t i = 0; i < kWords; ++i) set.words_[i] = a.words_[i] & b.words_[i];
    return set;
  }
  friend SmSet operator-(const SmSet& a, const SmSet& b) {
    SmSet set;
    for (size_t i = 0; i < kWords; ++i) set.words_[i] = a.words_[i] & ~b.words_[i];
    return set;
  }
  friend bool operator==(const SmSet&, const SmSet&) = default;

 private:
  std::array<uint64_t, kWords> words_{};
};

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_SM_SET_H_
