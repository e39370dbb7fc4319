// The query of page places (move_pages, Linux manual) and the judgement of its answer.
#include "kernels/gpu/session/host_pages.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::gpu {
namespace {

// Pages that are asked for: enough to find a split, few enough to cost little.
constexpr std::size_t kMostAsked = 256;

// One address in each of the pages that are asked for, spread evenly.
std::vector<void*> pages_of(std::span<std::byte> memory) {
  const std::size_t pages = (memory.size() + page_bytes() - 1) / page_bytes();
  const std::size_t asked = std::min(pages, kMostAsked);
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < asked; ++i)
    addresses.push_back(memory.data() + pages * i / asked * page_bytes());
  return addresses;
}

}  // namespace

// An untouched page has no place, so each is written first.
PagePlaces page_places(std::span<std::byte> memory) {
  std::vector<void*> addresses = pages_of(memory);
  PagePlaces places;
  places.pages = addresses.size();
  if (addresses.empty()) return places;
  for (void* address : addresses) *static_cast<volatile std::byte*>(address) = std::byte{0};
  std::vector<int> nodes(addresses.size(), -ENOENT);
  // Without target nodes the call only reports; pid 0 is this process.
  if (syscall(SYS_move_pages, 0, addresses.size(), addresses.data(), nullptr, nodes.data(), 0) !=
      0) {
    places.error = errno;
    return places;
  }
  for (const int node : nodes) {
    if (node >= 0)
      ++places.by_node[node];
    else
      places.error = -node;
  }
  return places;
}

// The words of the fact, and part of the messages.
std::string places_in_words(const PagePlaces& places) {
  if (places.by_node.empty()) return "not told: " + errno_words(places.error);
  const bool one = places.by_node.size() == 1 && places.by_node.begin()->second == places.pages;
  if (one) return std::to_string(places.by_node.begin()->first);
  std::string words;
  for (const auto& [node, pages] : places.by_node)
    words += words.empty() ? fmt::format("{} ({} of {} pages)", node, pages, places.pages)
                           : fmt::format(", {} ({})", node, pages);
  return words;
}

Status check_places(const PagePlaces& places, const HostPlace& wanted, const std::string& who) {
  if (wanted.node < 0) return {};
  const bool elsewhere = std::ranges::any_of(
      places.by_node, [&](const auto& of_node) { return of_node.first != wanted.node; });
  if (!elsewhere) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("{}: place host memory on the {} NUMA node {}: it is on {}; {}", who,
                          wanted.side, wanted.node, places_in_words(places),
                          wanted.policy_set
                              ? "the memory policy was set, so look whether that node has free "
                                "memory, or measure with numa=any"
                              : "the memory policy may not be set here (set_mempolicy); allow it, "
                                "in a container by CAP_SYS_NICE, or measure with numa=any"));
}

Status report_places(Reporter& reporter, const std::string& name, const HostPlace& wanted,
                     const std::string& who, const PagePlaces& places) {
  reporter.fact(name, places_in_words(places));
  if (wanted.node >= 0 && places.by_node.empty())
    reporter.note(
        "warning",
        fmt::format("{}: {} host memory was asked for on NUMA node {}, and where it is was "
                    "{}; so this figure enters no near_far_ratios; allow move_pages, in "
                    "a container by CAP_SYS_NICE",
                    who, wanted.side, wanted.node, places_in_words(places)));
  return check_places(places, wanted, who);
}

Status check_host_pages(Reporter& reporter, const std::string& name, const HostPlace& wanted,
                        const std::string& who, std::span<std::byte> memory) {
  return report_places(reporter, name, wanted, who, page_places(memory));
}

}  // namespace railgauge::gpu
