// Reads files of a node: short, bounded, and without errors for missing files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace railgauge::agent {

// Returns the first line without trailing blanks; "" if the file cannot be read (a port without a
// netdev returns EINVAL). Always valid UTF-8.
std::string line_of(const std::filesystem::path& path);
// Returns the names in a folder, sorted, at most `most`.
std::vector<std::string> names_in(const std::filesystem::path& folder, std::size_t most);
// Returns at most `most` bytes of a regular file, opened with the additional open() flags `flags`;
// "" for anything else. Never waits.
std::string small_file(const std::string& path, std::size_t most, int flags = 0);
// Returns the text with ASCII letters in lower case.
std::string lower(std::string text);
// Whether the name has the form "0000:3b:00.0", possibly with a longer domain.
bool is_pci_address(const std::string& name);

}  // namespace railgauge::agent
