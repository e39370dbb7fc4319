#include "controller/run/other_partner.h"

#include "kernels/core/base/result.h"

namespace railgauge::run {

PartnerBook::PartnerBook(std::span<const RunTaskSpec> tasks) : PartnerBook(tasks.size()) {
  for (std::size_t i = 0; i < tasks.size(); ++i) enter(i, tasks[i]);
}

void PartnerBook::enter(std::size_t task, const RunTaskSpec& spec) {
  if (spec.ends.size() != 2 || spec.waived) return;
  Ends ends{};
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    ends[rank] = place_of(spec.stage, spec.ends[rank], task, rank);
  slot_of(task) = ends;
}

PartnerBook::Ends PartnerBook::ends_of(std::size_t task) const {
  return task < tasks_.size() ? tasks_[task] : Ends{kNoPlace, kNoPlace};
}

PartnerBook::Ends& PartnerBook::slot_of(std::size_t task) {
  if (task >= tasks_.size()) tasks_.resize(task + 1, {kNoPlace, kNoPlace});
  return tasks_[task];
}

std::uint32_t PartnerBook::place_of(std::uint32_t stage, const PairEnd& end, std::size_t task,
                                    std::uint32_t rank) {
  const auto [place, fresh] =
      index_.try_emplace({stage, end.name}, static_cast<std::uint32_t>(places_.size()));
  if (fresh) places_.push_back({.stage = stage, .end = end, .task = task, .rank = rank});
  return place->second;
}

void PartnerBook::passed(std::size_t task) {
  for (const std::uint32_t place : ends_of(task))
    if (place != kNoPlace) ++places_[place].passed;
}

void PartnerBook::failed(std::size_t task) {
  const Ends ends = ends_of(task);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    if (ends[rank] == kNoPlace) continue;
    Place& place = places_[ends[rank]];
    ++place.failed;
    const bool wanted =
        task < planned_ && !place.is_measured && !closed_ && !closed_stages_.contains(place.stage);
    if (!wanted) continue;
    place.is_measured = true;
    wanted_.emplace_back(task, rank);
  }
}

PartnerBook::Choice PartnerBook::known_good() const {
  Choice choice;
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (place.passed <= place.failed) continue;
    Queues& queues = choice[{place.stage, place.end.kind}];
    queues.by_leaf[place.end.leaf].insert({place.asked, i});
    queues.all.insert({place.asked, i});
  }
  return choice;
}

// Skipped places are on one of the two nodes and have one kind, so they are few.
std::optional<std::uint32_t> PartnerBook::first_apart(const Queue& queue, const Place& one,
                                                      const Place& other) {
  for (const auto& [asked, i] : queue) {
    ++looked_at_;
    const std::string& node = places_[i].end.node;
    if (node != one.end.node && node != other.end.node) return i;
  }
  return {};
}

std::optional<std::uint32_t> PartnerBook::take_partner(Choice& choice, const Ends& ends,
                                                       std::uint32_t replaced_rank) {
  const Place& replaced = places_[ends[replaced_rank]];
  const Place& kept = places_[ends[1 - replaced_rank]];
  const auto found = choice.find({kept.stage, replaced.end.kind});
  if (found == choice.end()) return {};
  Queues& queues = found->second;
  std::optional<std::uint32_t> best;
  if (const auto leaf = queues.by_leaf.find(replaced.end.leaf); leaf != queues.by_leaf.end())
    best = first_apart(leaf->second, kept, replaced);
  if (!best) best = first_apart(queues.all, kept, replaced);
  if (!best) return {};
  Place& place = places_[*best];
  Queue& of_leaf = queues.by_leaf[place.end.leaf];
  for (Queue* queue : {&of_leaf, &queues.all}) {
    queue->erase({place.asked, *best});
    queue->insert({place.asked + 1, *best});
  }
  ++place.asked;
  return best;
}

std::vector<Elsewhere> PartnerBook::next() {
  std::vector<Elsewhere> found;
  if (wanted_.empty()) return found;
  Choice choice = known_good();
  for (const auto& [task, kept_rank] : wanted_) {
    const std::uint32_t replaced = 1 - kept_rank;
    const auto partner = take_partner(choice, ends_of(task), replaced);
    if (!partner) continue;
    const Place& place = places_[*partner];
    found.push_back({task, replaced, place.task, place.rank});
  }
  wanted_.clear();
  return found;
}

void PartnerBook::add(const Elsewhere& one) {
  Ends ends = ends_of(one.failed);
  ends[one.replaced_rank] = ends_of(one.partner_task)[one.partner_rank];
  slot_of(next_++) = ends;
}

void PartnerBook::close(std::optional<std::uint32_t> stage) {
  if (stage)
    closed_stages_.insert(*stage);
  else
    closed_ = true;
  std::erase_if(wanted_, [&](const auto& wanted) {
    return closed_ || places_[ends_of(wanted.first)[wanted.second]].stage == *stage;
  });
}

std::array<const PairEnd*, 2> PartnerBook::ends_of(const Elsewhere& one) const {
  Ends ends = ends_of(one.failed);
  ends[one.replaced_rank] = ends_of(one.partner_task)[one.partner_rank];
  RG_CHECK(ends[0] != kNoPlace && ends[1] != kNoPlace);
  return {&places_[ends[0]].end, &places_[ends[1]].end};
}

std::vector<std::string> PartnerBook::endpoints_of(const Elsewhere& one) const {
  std::vector<std::string> endpoints;
  for (const PairEnd* end : ends_of(one))
    endpoints.insert(endpoints.end(), end->endpoints.begin(), end->endpoints.end());
  return endpoints;
}

std::vector<std::string> PartnerBook::leaves_of(const Elsewhere& one) const {
  std::set<std::string> leaves;
  for (const PairEnd* end : ends_of(one))
    if (!end->leaf.empty()) leaves.insert(end->leaf);
  return {leaves.begin(), leaves.end()};
}

}  // namespace railgauge::run
