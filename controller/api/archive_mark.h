// How the controller says that the archive may lack what a call has changed. Pure.
#pragma once

namespace railgauge::api {

// The trailing metadata of such an answer, and its value.
inline constexpr const char* kArchiveHeader = "railgauge-archive";
inline constexpr const char* kArchiveBehind = "behind";

}  // namespace railgauge::api
