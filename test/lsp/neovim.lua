-- What somebody does in Neovim: move a phase, see why that is illegal, accept the fix, and read what it does to a kernel.
-- Arguments by environment: SERVER (a command), FOLDER, OUT (a file for what was seen, as JSON).
local folder, seen = vim.env.FOLDER, {}

local function fail(what)
  seen.missing = what
  vim.fn.writefile({ vim.json.encode(seen) }, vim.env.OUT)
  vim.cmd('cquit')
end
local function wait(what, test)
  if not vim.wait(30000, test, 20) then fail(what) end
end

local client
local function open(file, filetype)
  vim.cmd('edit ' .. folder .. '/' .. file)
  vim.bo.filetype = filetype
  if client == nil then
    client = vim.lsp.start_client({
      name = 'orrery',
      cmd = { vim.env.NODE, vim.env.SERVER, 'lsp' },
      root_dir = folder,
      init_options = { orrery = { kernels = { 'kernel.ptx' } } },
    })
  end
  vim.lsp.buf_attach_client(0, client)
  wait('a server', function() return vim.lsp.buf_get_clients(0)[client] ~= nil end)
end

local function ask(method, more)
  local params = vim.tbl_extend('force', vim.lsp.util.make_position_params(0, 'utf-16'), more or {})
  for _, r in pairs(vim.lsp.buf_request_sync(0, method, params, 30000) or {}) do
    return r.result
  end
end

-- Requests cannot be waited for inside of vim.wait.
local function lens(what)
  for _ = 1, 300 do
    local lenses = ask('textDocument/codeLens') or {}
    if #lenses > 0 then return lenses[1].command.title end
    vim.wait(100)
  end
  fail(what)
end

local function messages()
  return vim.tbl_map(function(d) return d.message end, vim.diagnostic.get(0))
end
local function errors()
  return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })
end

-- The order of a colleague, in which a phase is moved to an illegal place.
open('mine.yaml', 'yaml')
vim.api.nvim_buf_set_lines(0, 3, 4, false, { '  - { move: OriBranchOpt, before: SetControlFlowOpLastInBB }' })
wait('an error', function() return errors() > 0 end)
seen.illegal = messages()

-- The fix that the server prefers.
vim.api.nvim_win_set_cursor(0, { 4, 10 })
local line = { line = 3, character = 4 }
local actions = ask('textDocument/codeAction', { range = { start = line, ['end'] = line }, context = { diagnostics = {} } })
for _, action in ipairs(actions) do
  if action.title:find('nearest legal place') then
    seen.fix = action.title
    vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
    break
  end
end
seen.line = vim.api.nvim_buf_get_lines(0, 3, 4, false)[1]
wait('no error', function() return errors() == 0 end)

-- What it does to the kernel.
seen.effect = lens('what the order does')
vim.api.nvim_win_set_cursor(0, { 4, 14 })
seen.card = ask('textDocument/hover').contents.value
seen.definition = vim.tbl_map(function(l) return l.uri end, ask('textDocument/definition'))
seen.references = #ask('textDocument/references', { context = { includeDeclaration = true } })
seen.saved = vim.fn.readfile(folder .. '/mine.yaml')

-- A name that is being typed.
vim.api.nvim_buf_set_lines(0, 3, 4, false, { '  - { drop: Gv }' })
vim.api.nvim_win_set_cursor(0, { 4, 13 })
for _, item in ipairs(ask('textDocument/completion')) do
  if item.label == 'GvnCse' then seen.completion = item.detail end
end
vim.cmd('set nomodified')

-- Their kernel.
open('kernel.ptx', 'ptx')
seen.symbols = vim.tbl_map(function(s) return s.name end, ask('textDocument/documentSymbol'))
local at = vim.fn.search('\\<setp\\.')
vim.api.nvim_win_set_cursor(0, { at, vim.fn.match(vim.fn.getline(at), 'setp') })
seen.instruction = ask('textDocument/hover').contents.value
vim.fn.search('%r')
local before = vim.fn.expand('<cWORD>')
local edit = ask('textDocument/rename', { newName = '%renamed' })
vim.lsp.util.apply_workspace_edit(edit, 'utf-16')
seen.renamed = { before, vim.fn.searchcount({ pattern = '%renamed\\>', recompute = 1 }).total }
seen.kernel = lens('figures of the kernel')
seen.faults = messages()

vim.fn.writefile({ vim.json.encode(seen) }, vim.env.OUT)
vim.lsp.stop_client(client)
vim.wait(3000, function() return vim.lsp.client_is_stopped(client) end, 20)
vim.cmd('qall!')
