#include "kernels/core/dmabuf_mapping.h"

#include <algorithm>
#include <vector>

#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// "0009:01:00.0".
bool is_pci_address(std::string_view word) {
  const std::size_t dot = word.find('.');
  return dot != std::string_view::npos && std::ranges::count(word, ':') == 2 &&
         word.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

// The host bridge and all PCI devices below it, down to the device; empty when there is no host
// bridge.
std::vector<std::string_view> pci_path(std::string_view folder) {
  const auto words = split(folder, '/');
  const auto root =
      std::ranges::find_if(words, [](std::string_view word) { return word.starts_with("pci"); });
  if (root == words.end()) return {};
  return {root, std::find_if_not(root + 1, words.end(), is_pci_address)};
}

}  // namespace

std::string_view mapping_words(DmabufMapping mapping) {
  switch (mapping) {
    case DmabufMapping::kDefault:
      return "default";
    case DmabufMapping::kPcie:
      return "pcie";
    case DmabufMapping::kDataDirect:
      break;
  }
  return "data-direct";
}

MappingChoice choose_dmabuf_mapping(const DmabufPaths& paths) {
  if (paths.direct_shares_bridge)
    return {DmabufMapping::kDataDirect,
            "the NIC's Data Direct function shares a bridge with the GPU"};
  if (!paths.is_coherent) return {DmabufMapping::kDefault, "the GPU has no path but PCIe"};
  if (paths.nic_shares_bridge)
    return {DmabufMapping::kPcie, "the NIC shares a bridge with the coherent GPU"};
  return {DmabufMapping::kDefault, "the NIC reaches the coherent GPU through the CPU"};
}

// The last element of each path is the device itself, no bridge.
bool share_pci_bridge(std::string_view a, std::string_view b) {
  const auto one = pci_path(a);
  const auto other = pci_path(b);
  if (one.size() < 3 || other.size() < 3) return false;
  return one[0] == other[0] && one[1] == other[1];
}

}  // namespace railgauge
