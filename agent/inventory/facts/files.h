// Reads files of a node: short, bounded, and without errors for missing files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace railgauge::agent {

// The first line without trailing blanks; "" if the file cannot be read (a port without a netdev
// returns EINVAL). Always valid UTF-8.
std::string line_of(const std::filesystem::path& path);
// The last part of the path that the link points to; "" without a link.
std::string link_name(const std::filesystem::path& link);
// Names in a folder, sorted, at most `most`.
std::vector<std::string> names_in(const std::filesystem::path& folder, std::size_t most);
// The NUMA node of a PCI device's folder plus one, as in the contract; 0: unknown.
std::uint32_t numa_node_plus_one(const std::filesystem::path& device);
// ASCII letters in lower case.
std::string lower(std::string text);
// "0000:3b:00.0", also with a longer domain.
bool is_pci_address(const std::string& name);

}  // namespace railgauge::agent
