// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/sm_sharing.h"

#include <algorithm>
#include <numeric>

namespace sgprs::model {
namespace {
constexpr double kTiny = 1e-6;  // of an SM
}  // namespace

void SmSharing::Share(const SmAtoms& atoms, std::span<const SmDemand> demands,
                      std::span<const double> group_limits, std::vector<double>* given) {
  given->assign(demands.size(), 0);
  free_.resize(atoms.atom_count());
  for (uint32_t atom = 0; atom < atoms.atom_count(); ++atom) free_[atom] = atoms.AtomSize(atom);
  group_free_.assign(group_limits.begin(), group_limits.end());
  order_.resize(demands.size());
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
    return demands[a].priority < demands[b].priority;
  });
  for (size_t begin = 0; begin < order_.size();) {
    size_t end = begin;
    active_.clear();
    while (end < order_.size() &&
           demands[order_[end]].priority == demands[order_[begin]].priority) {
      active_.push_back(order_[end++]);
    }
    ShareLevel(atoms, demands, given);
    begin = end;
  }
}

void SmSharing::ShareLevel(const SmAtoms& atoms, std::span<const SmDemand> demands,
                           std::vector<double>* given) {
  // Every round satisfies a demand, uses up a group or uses up the atoms, so this ends.
  const size_t most_rounds = demands.size() + group_free_.size() + 1;
  for (size_t round = 0; round < most_rounds && !active_.empty(); ++round) {
    if (!Round(atoms, demands, given)) return;
  }
}

bool SmSharing::Round(const SmAtoms& atoms, std::span<const SmDemand> demands,
                      std::vector<double>* given) {
  share_.assign(atoms.atom_count(), 0);  // first: how many want it
  taken_.assign(atoms.atom_count(), 0);
  group_active_.assign(group_free_.size(), 0);
  group_taken_.assign(group_free_.size(), 0);
  for (uint32_t i : active_) {
    for (uint32_t atom : atoms.AtomsOf(demands[i].set)) share_[atom] += 1;
    ++group_active_[demands[i].group];
  }
  for (uint32_t atom = 0; atom < share_.size(); ++atom) {
    share_[atom] = share_[atom] > 0 ? free_[atom] / share_[atom] : 0;
  }
  double moved = 0;
  size_t kept = 0;
  for (uint32_t i : active_) {
    const SmDemand& demand = demands[i];
    double offered = 0;
    for (uint32_t atom : atoms.AtomsOf(demand.set)) offered += share_[atom];
    const double group_share = group_free_[demand.group] / group_active_[demand.group];
    const double take = std::min({offered, demand.sms - (*given)[i], group_share});
    if (offered <= kTiny || take <= 0) continue;
    for (uint32_t atom : atoms.AtomsOf(demand.set)) taken_[atom] += share_[atom] * take / offered;
    (*given)[i] += take;
    group_taken_[demand.group] += take;
    moved += take;
    if (demand.sms - (*given)[i] > kTiny) active_[kept++] = i;
  }
  active_.resize(kept);
  // Settled after the round, so that the order within it does not matter.
  for (size_t atom = 0; atom < free_.size(); ++atom) free_[atom] -= taken_[atom];
  for (size_t group = 0; group < group_free_.size(); ++group) {
    group_free_[group] -= group_taken_[group];
  }
  return moved > kTiny;
}

void ShareEvenly(double capacity, std::vector<double>* wishes) {
  double left = capacity;
  std::vector<double*> order;
  for (double& wish : *wishes) order.push_back(&wish);
  std::sort(order.begin(), order.end(), [](double* a, double* b) { return *a < *b; });
  for (size_t i = 0; i < order.size(); ++i) {
    *order[i] = std::min(*order[i], left / static_cast<double>(order.size() - i));
    left -= *order[i];
  }
}

}  // namespace sgprs::model
