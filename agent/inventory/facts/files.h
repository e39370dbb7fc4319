// How the inventory reads the files of a node: short, bounded, and quiet about what is not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace railgauge::agent {

// First line, without blanks at its end; "" when it cannot be read (a port without a netdev answers
// EINVAL). Always valid UTF-8.
std::string line_of(const std::filesystem::path& path);
// Last part of where a link points; "" where there is none.
std::string link_name(const std::filesystem::path& link);
// Names in a folder, sorted, at most `most`.
std::vector<std::string> names_in(const std::filesystem::path& folder, std::size_t most);
// From a PCI device's folder, as the contract has it: 0 is unknown.
std::uint32_t numa_node_plus_one(const std::filesystem::path& device);
// ASCII letters in lower case.
std::string lower(std::string text);
// "0000:3b:00.0", also with a domain of more digits.
bool is_pci_address(const std::string& name);

}  // namespace railgauge::agent
