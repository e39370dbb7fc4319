#include "controller/localise/retest/suspects_halving.h"

#include <algorithm>

#include <fmt/format.h>

namespace railgauge::localise {
namespace {

// The first half is the larger one when the size is odd.
std::pair<NodeGroup, NodeGroup> halves_of(const NodeGroup& group) {
  const auto middle = group.begin() + static_cast<std::ptrdiff_t>((group.size() + 1) / 2);
  return {NodeGroup(group.begin(), middle), NodeGroup(middle, group.end())};
}

// Both groups as one sorted group.
NodeGroup joined(const NodeGroup& a, const NodeGroup& b) {
  NodeGroup all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all);
  return all;
}

}  // namespace

GroupHalving::GroupHalving(NodeGroup nodes) {
  std::ranges::sort(nodes);
  if (nodes.size() >= 2) open_whole(std::move(nodes));
}

// A test of a single node needs a known-good partner, which add_partner() adds later.
void GroupHalving::ask(std::size_t of_case, NodeGroup left, NodeGroup right, NodeGroup not_with) {
  const std::uint32_t id = next_test_++;
  Pending pending{.test = {.id = id, .nodes = joined(left, right)},
                  .of_case = of_case,
                  .not_with = std::move(not_with)};
  pending.wants_partner = pending.test.nodes.size() < 2;
  cases_[of_case].waiting[id] = {std::move(left), std::move(right)};
  pending_[id] = std::move(pending);
}

void GroupHalving::open_whole(NodeGroup group) {
  const std::size_t id = next_case_++;
  cases_[id] = {.kind = Case::Kind::kWhole, .left = group};
  ask(id, std::move(group), {});
}

void GroupHalving::open_halves(const NodeGroup& group) {
  const std::size_t id = next_case_++;
  auto [left, right] = halves_of(group);
  cases_[id] = {.kind = Case::Kind::kHalves, .left = left, .right = right};
  ask(id, std::move(left), {});
  ask(id, std::move(right), {});
}

// Both halves pass alone: pairs of quarters show which parts fail together.
void GroupHalving::open_mixed(const NodeGroup& left, const NodeGroup& right) {
  const std::size_t id = next_case_++;
  cases_[id] = {.kind = Case::Kind::kMixed, .left = left, .right = right};
  const auto [left_a, left_b] = halves_of(left);
  const auto [right_a, right_b] = halves_of(right);
  for (const NodeGroup& x : {left_a, left_b})
    for (const NodeGroup& y : {right_a, right_b})
      if (!x.empty() && !y.empty()) ask(id, x, y);
}

void GroupHalving::open_alone(std::int32_t node, const NodeGroup& failed_with) {
  const std::size_t id = next_case_++;
  cases_[id] = {.kind = Case::Kind::kAlone, .left = {node}, .right = failed_with};
  ask(id, {node}, {}, failed_with);
}

bool GroupHalving::add_partner(Pending& pending, const std::set<std::int32_t>& busy) const {
  for (const std::int32_t node : good_) {
    const bool taken = busy.contains(node) || std::ranges::count(pending.not_with, node) > 0 ||
                       std::ranges::count(pending.test.nodes, node) > 0;
    if (taken) continue;
    pending.test.nodes.push_back(node);
    std::ranges::sort(pending.test.nodes);
    return true;
  }
  return false;
}

std::vector<GroupHalving::Test> GroupHalving::next() {
  std::vector<Test> wave;
  std::set<std::int32_t> busy;
  bool any_out = false;
  for (const auto& [id, pending] : pending_) {
    if (!pending.out) continue;
    any_out = true;
    busy.insert(pending.test.nodes.begin(), pending.test.nodes.end());
  }
  // Groups first: they may bring the known-good partners that single nodes wait for.
  for (const bool alone : {false, true})
    for (auto& [id, pending] : pending_) {
      if (pending.out || pending.wants_partner != alone) continue;
      if (std::ranges::any_of(pending.test.nodes, [&](auto n) { return busy.contains(n); }))
        continue;
      if (alone && !add_partner(pending, busy)) continue;
      pending.out = true;
      busy.insert(pending.test.nodes.begin(), pending.test.nodes.end());
      wave.push_back(pending.test);
    }
  if (wave.empty() && !any_out && !pending_.empty()) give_up();
  return wave;
}

// Nothing can run any more: what is open stays open.
void GroupHalving::give_up() {
  for (const auto& [id, each] : cases_) {
    leave_open(each.left);
    leave_open(each.not_measured);
    if (each.kind != Case::Kind::kAlone) leave_open(each.right);
  }
  cases_.clear();
  pending_.clear();
}

void GroupHalving::leave_open(const NodeGroup& nodes) {
  std::set<std::int32_t> open(verdict_.unresolved.begin(), verdict_.unresolved.end());
  open.insert(nodes.begin(), nodes.end());
  verdict_.unresolved.assign(open.begin(), open.end());
}

Status GroupHalving::report(std::uint32_t id, Answer answer) {
  const auto found = pending_.find(id);
  if (found == pending_.end() || !found->second.out)
    return fail(Code::kInvalidArgument, fmt::format("group test {}: no such test is out", id));
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  ++verdict_.tests;
  Case& of = cases_[pending.of_case];
  auto parts = std::move(of.waiting[id]);
  of.waiting.erase(id);
  if (answer == Answer::kNotMeasured) {
    // Counts tests; a known-good partner of the test is not in question.
    ++verdict_.not_measured;
    of.not_measured = joined(of.not_measured, joined(parts.first, parts.second));
  } else if (answer == Answer::kPassed) {
    good_.insert(pending.test.nodes.begin(), pending.test.nodes.end());
  } else if (pending.wants_partner) {
    // The partner with which it failed takes the place of the other half.
    for (const std::int32_t node : pending.test.nodes)
      if (node != parts.first.front()) parts.second.push_back(node);
    of.failed.push_back(std::move(parts));
  } else {
    of.failed.push_back(std::move(parts));
  }
  if (of.waiting.empty()) resolve(pending.of_case);
  if (verdict_.tests >= kMaxTests) give_up();
  return {};
}

void GroupHalving::resolve(std::size_t id) {
  const Case done = std::move(cases_[id]);
  cases_.erase(id);
  leave_open(done.not_measured);
  const bool all_measured = done.not_measured.empty();
  switch (done.kind) {
    case Case::Kind::kWhole:
      if (!done.failed.empty()) open_halves(done.left);
      return;
    case Case::Kind::kHalves:
      for (const auto& [half, partner] : done.failed)
        half.size() == 1 ? open_alone(half.front(), partner) : open_halves(half);
      if (!done.failed.empty() || !all_measured) return;
      if (done.left.size() + done.right.size() == 2)
        verdict_.boundaries.emplace_back(done.left, done.right);
      else
        open_mixed(done.left, done.right);
      return;
    case Case::Kind::kMixed:
      for (const auto& [x, y] : done.failed)
        if (x.size() + y.size() == 2)
          verdict_.boundaries.emplace_back(x, y);
        else
          open_mixed(x, y);
      if (done.failed.empty() && all_measured)
        verdict_.boundaries.emplace_back(done.left, done.right);
      return;
    case Case::Kind::kAlone:
      if (!done.failed.empty())
        verdict_.bad.push_back(done.left.front());
      else
        leave_open(done.left);
      return;
  }
}

}  // namespace railgauge::localise
