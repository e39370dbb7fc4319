// The built pages of the console, read once into memory.
#pragma once

#include <map>
#include <string>

namespace railgauge::console {

struct PageFile {
  std::string type{};  // of its content
  std::string text{};
};

using PageFiles = std::map<std::string, PageFile>;  // by path: "/index.html"

// Bounds of what is read; files beyond them are left out.
inline constexpr std::size_t kMostPageFiles = 64;
inline constexpr std::size_t kMostPageBytes = 4U << 20U;

// Renames the folder "/assets/" to "/NAME/", in the paths and in the pages that link to it. A name
// that nobody can guess is in no cache that another program on this port has filled before. Pure.
PageFiles with_assets_in(PageFiles files, const std::string& name);

// Reads the files below `folder` whose type is known; none for a folder that is not there.
PageFiles read_page_files(const std::string& folder);

}  // namespace railgauge::console
