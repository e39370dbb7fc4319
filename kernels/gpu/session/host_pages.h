// The actual NUMA nodes of host memory's pages, as Linux reports them. A figure of the near or the
// far node counts only when its memory is there.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"

namespace railgauge::gpu {

// The requested node of host memory.
struct HostPlace {
  int node = -1;     // -1: no particular node
  std::string side;  // "near", "far"
  // True when the memory policy was bound to the node; false when only the CPUs were.
  bool policy_set = false;
};

// Pages of one buffer by node. A page without a known place is in no entry.
struct PagePlaces {
  std::map<int, std::size_t> by_node;
  std::size_t pages = 0;  // that were queried
  int error = 0;          // errno, the reason for unknown places
};

// Queries at most 256 pages spread over `memory`. Touches each first: sets one byte to zero.
PagePlaces page_places(std::span<std::byte> memory);

// Formats "0" or "0 (250 of 256 pages), 1 (6)", or the reason why Linux does not report them. Pure.
std::string places_in_words(const PagePlaces& places);

// Returns kFailedPrecondition when known pages are on another node than requested: for lack of
// rights, or because driver or kernel placed them elsewhere despite the policy. Both waive, since
// no figure of the requested node is possible. `who` appears in the message. Pure.
Status check_places(const PagePlaces& places, const HostPlace& wanted, const std::string& who);

// Adds the observed places as the fact `name`, then calls check_places(). When a node was requested
// but Linux does not report the places, a note excludes the figure from both sides: `railgauge run`
// forms no ratio from it (controller/cli recognises it by the fact's first words).
Status report_places(Reporter& reporter, const std::string& name, const HostPlace& wanted,
                     const std::string& who, const PagePlaces& places);

// Does all of it for one buffer that is not filled yet: queries, reports the fact `name`
// ("host_node"), checks.
Status check_host_pages(Reporter& reporter, const std::string& name, const HostPlace& wanted,
                        const std::string& who, std::span<std::byte> memory);

}  // namespace railgauge::gpu
