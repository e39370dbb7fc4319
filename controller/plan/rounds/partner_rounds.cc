#include "controller/plan/rounds/partner_rounds.h"

#include <algorithm>
#include <set>

namespace railgauge::plan {
namespace {

// Puts each pair into the first round in which both of its nodes rest.
class FirstFit {
 public:
  // A node with itself, and a pair that has met, are left out.
  void add(std::uint32_t a, std::uint32_t b) {
    if (a == b || !met_.insert(std::minmax(a, b)).second) return;
    std::size_t round = 0;
    while (round < rounds_.size() && (busy_[round].contains(a) || busy_[round].contains(b)))
      ++round;
    if (round == rounds_.size()) {
      rounds_.emplace_back();
      busy_.emplace_back();
    }
    rounds_[round].push_back(std::minmax(a, b));
    busy_[round].insert(a);
    busy_[round].insert(b);
  }
  // Each node with those after it.
  void add_ring(std::span<const std::uint32_t> nodes) {
    for (std::size_t step = 1; step <= kPeersMet; ++step)
      for (std::size_t i = 0; i < nodes.size(); ++i)
        add(nodes[i], nodes[(i + step) % nodes.size()]);
  }
  // The rounds; the layout is empty afterwards.
  std::vector<std::vector<NodePair>> take() { return std::move(rounds_); }

 private:
  std::vector<std::vector<NodePair>> rounds_{};
  // By round.
  std::vector<std::set<std::uint32_t>> busy_{};
  std::set<NodePair> met_{};
};

}  // namespace

// A turn shifts the partners by one, so that all proved nodes meet one each.
std::vector<std::vector<NodePair>> partner_rounds(std::span<const std::uint32_t> proved,
                                                  std::span<const std::uint32_t> partners) {
  FirstFit rounds;
  const std::size_t met = std::min(kPartnersMet, partners.size());
  for (std::size_t turn = 0; turn < met; ++turn)
    for (std::size_t i = 0; i < proved.size(); ++i)
      rounds.add(proved[i], partners[(i + turn) % partners.size()]);
  rounds.add_ring(partners);
  rounds.add_ring(proved);
  return rounds.take();
}

}  // namespace railgauge::plan
