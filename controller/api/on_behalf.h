// How a call inside the controller's process says for whom it is made.
#pragma once

namespace railgauge::api {

// Metadata of a call: the name under which the person is entered in the book of peers. Calls of
// connections from outside may have it too; it is not looked at there.
inline constexpr const char* kOnBehalfOf = "railgauge-on-behalf-of";

}  // namespace railgauge::api
