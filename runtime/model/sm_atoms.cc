// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/sm_atoms.h"

namespace sgprs::model {

SmAtoms::SmAtoms(uint32_t sm_count) : sm_count_(sm_count) { Reset(); }

void SmAtoms::Reset() {
  sets_.assign(1, SmSet::Range(0, sm_count_));
  atoms_ = sets_;
  Refresh();
}

uint32_t SmAtoms::Intern(const SmSet& set) {
  if (set.Empty()) return 0;
  for (uint32_t i = 0; i < sets_.size(); ++i) {
    if (sets_[i] == set) return i;
  }
  sets_.push_back(set);
  Split(set);
  Refresh();
  return static_cast<uint32_t>(sets_.size() - 1);
}

void SmAtoms::Split(const SmSet& set) {
  std::vector<SmSet> split;
  for (const SmSet& atom : atoms_) {
    const SmSet inside = atom & set;
    const SmSet outside = atom - set;
    if (!inside.Empty()) split.push_back(inside);
    if (!outside.Empty()) split.push_back(outside);
  }
  atoms_ = std::move(split);
}

void SmAtoms::Refresh() {
  sizes_.clear();
  for (const SmSet& atom : atoms_) sizes_.push_back(atom.Count());
  members_.assign(sets_.size(), {});
  for (size_t set = 0; set < sets_.size(); ++set) {
    for (uint32_t atom = 0; atom < atoms_.size(); ++atom) {
      if (!(atoms_[atom] & sets_[set]).Empty()) members_[set].push_back(atom);
    }
  }
}

}  // namespace sgprs::model
