# SPDX-License-Identifier: Apache-2.0
from app.main import say

print(say())
