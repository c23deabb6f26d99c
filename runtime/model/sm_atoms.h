// SPDX-License-Identifier: Apache-2.0
// Cuts the device into atoms, the largest groups of SMs that every known SM set holds whole or not
// at all, so that sharing reckons with a handful of atoms instead of single SMs.
#ifndef SGPRS_RUNTIME_MODEL_SM_ATOMS_H_
#define SGPRS_RUNTIME_MODEL_SM_ATOMS_H_

#include <cstdint>
#include <vector>

#include "runtime/model/sm_set.h"

namespace sgprs::model {

class SmAtoms {
 public:
  explicit SmAtoms(uint32_t sm_count);

  // Index of `set`, made known if it is new; an empty set means all SMs. Splits atoms: indexes of
  // sets stay, those of atoms do not.
  uint32_t Intern(const SmSet& set);
  // Forgets every set but "all" (index 0).
  void Reset();

  size_t set_count() const { return sets_.size(); }
  uint32_t atom_count() const { return static_cast<uint32_t>(sizes_.size()); }
  double AtomSize(uint32_t atom) const { return sizes_[atom]; }
  const std::vector<uint32_t>& AtomsOf(uint32_t set) const { return members_[set]; }
  uint32_t SetSize(uint32_t set) const { return sets_[set].Count(); }

 private:
  void Split(const SmSet& set);
  void Refresh();

  uint32_t sm_count_;
  std::vector<SmSet> sets_;
  std::vector<SmSet> atoms_;
  std::vector<double> sizes_;                   // per atom
  std::vector<std::vector<uint32_t>> members_;  // per set, its atoms
};

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_SM_ATOMS_H_
