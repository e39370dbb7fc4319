#include "controller/verdict/function_loss.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace railgauge::analysis {
namespace {

// A word of a path and its rank.
struct Rank {
  std::string_view word;
  int rank;
};

// Straight from memory to the wire or to another GPU, through host memory, through the kernel's
// sockets.
constexpr std::array kPaths{
    Rank{"dmabuf", 3}, Rank{"dma-buf", 3},   Rank{"dma_buf", 3},    Rank{"peermem", 3},
    Rank{"gdr", 3},    Rank{"gpudirect", 3}, Rank{"gpu direct", 3}, Rank{"p2p", 3},
    Rank{"ib", 2},     Rank{"roce", 2},      Rank{"rdma", 2},       Rank{"verbs", 2},
    Rank{"shm", 2},    Rank{"staged", 1},    Rank{"socket", 1},     Rank{"tcp", 1},
    Rank{"net", 1},
};
// Outcomes of tasks and states of checks that show a working function.
constexpr std::array<std::string_view, 2> kGood{"passed", "pass"};
// A check that warns still works; what is unknown was not measured.
constexpr std::array<std::string_view, 7> kBad{"waived", "failed", "crashed", "timed_out",
                                               "fail",   "error",  kGone};

bool is_one_of(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

}  // namespace

std::string_view word(LossKind kind) {
  return kind == LossKind::kCorruption ? "corruption" : "lost_function";
}

namespace {

// The word may stand among others ("net/ib", "ib via dmabuf"): the best counts, a detour decides.
int rank_of_one(std::string_view lower) {
  int best = 0;
  for (const Rank& rank : kPaths) {
    if (lower.find(rank.word) == std::string_view::npos) continue;
    if (rank.word == "staged" || rank.word == "socket" || rank.word == "tcp") return rank.rank;
    best = std::max(best, rank.rank);
  }
  return best;
}

}  // namespace

int path_rank(std::string_view path) {
  std::string lower(path);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  int worst = 0;
  for (std::string_view rest = lower; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const int rank = rank_of_one(rest.substr(0, comma));
    if (rank > 0 && (worst == 0 || rank < worst)) worst = rank;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return worst;
}

// A bad outcome decides first; a path is compared only where both outcomes are good.
std::vector<LostFunction> lost_functions(std::span<const FunctionSides> all) {
  std::vector<LostFunction> lost;
  for (const FunctionSides& sides : all) {
    if (sides.outcome_after == "corrupted") {
      lost.push_back({.kind = LossKind::kCorruption, .sides = sides, .what = "wrong bytes"});
      continue;
    }
    if (!is_one_of(sides.outcome_before, kGood)) continue;
    if (is_one_of(sides.outcome_after, kBad)) {
      lost.push_back(
          {.kind = LossKind::kLostFunction,
           .sides = sides,
           .what = fmt::format("{} before, now {}", sides.outcome_before, sides.outcome_after)});
      continue;
    }
    const int before = path_rank(sides.path_before);
    const int after = path_rank(sides.path_after);
    if (before > 0 && after > 0 && after < before)
      lost.push_back(
          {.kind = LossKind::kLostFunction,
           .sides = sides,
           .what = fmt::format("path {} before, now {}", sides.path_before, sides.path_after)});
  }
  return lost;
}

}  // namespace railgauge::analysis
