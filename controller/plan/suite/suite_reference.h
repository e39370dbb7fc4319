// The schema for editors and the page of suite keys, both rendered from THE table in suite_keys.h.
// Pure; the same text on every call.
#pragma once

#include <string>

namespace railgauge::plan {

// The text of suites/schema.json: JSON Schema, draft 2020-12, one line a key.
std::string suite_schema();
// The text of deploy/docs/reference/suite-keys.md: a table for each mapping of a suite.
std::string suite_key_page();

}  // namespace railgauge::plan
