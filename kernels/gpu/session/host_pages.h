// The real places of host memory's pages, as Linux reports them. A figure of the near or the far
// NUMA node counts only when its memory is there.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"

namespace railgauge::gpu {

// The node that host memory was requested on.
struct HostPlace {
  int node = -1;     // -1: on none in particular
  std::string side;  // "near", "far"
  // True where the memory policy was bound to the node; else only the CPUs were.
  bool policy_set = false;
};

// The places of some pages of one buffer: pages by node. A page without a known place is in none.
struct PagePlaces {
  std::map<int, std::size_t> by_node;
  std::size_t pages = 0;  // that were asked for
  int error = 0;          // errno, the reason for the unknown ones
};

// Queries at most 256 pages spread over `memory`. Each of them is touched before: one byte is set
// to zero.
PagePlaces page_places(std::span<std::byte> memory);

// "0", "0 (250 of 256 pages), 1 (6)", or why Linux does not report them. Pure.
std::string places_in_words(const PagePlaces& places);

// kFailedPrecondition when some pages are known to be on another node than the one asked for. Both
// reasons waive, because no figure of that node can be had: missing rights, and a driver or kernel
// that placed them elsewhere although the policy was set. `who` appears in the line. Pure.
Status check_places(const PagePlaces& places, const HostPlace& wanted, const std::string& who);

// Adds the fact `name` of the observed places, then check_places(). Where a node was requested and
// Linux does not report the places, a note says that the figure counts for no side: `railgauge run`
// forms no ratio of it (controller/cli recognises it by the fact's first words).
Status report_places(Reporter& reporter, const std::string& name, const HostPlace& wanted,
                     const std::string& who, const PagePlaces& places);

// All of it for one buffer, before it is filled: queries, reports the fact `name` ("host_node"),
// checks.
Status check_host_pages(Reporter& reporter, const std::string& name, const HostPlace& wanted,
                        const std::string& who, std::span<std::byte> memory);

}  // namespace railgauge::gpu
