// The report as one HTML file: no script, no foreign address, fit for a printer. Pure.
#pragma once

#include <string>

#include "controller/report/page.h"

namespace railgauge::cli {

// Writes the page. `matrix`: the picture of the pairs as SVG; "": none was measured, or `no_matrix`
// says why it is missing.
std::string report_html(const report::Page& page, const std::string& matrix,
                        const std::string& no_matrix = "");

}  // namespace railgauge::cli
