// Prints every text a user can meet: the help of all commands, then whatever the code can say, by kind, a line each:
// kind, place in the code, text. … stands for what is known only when it is said, {a | b} for one of two.
// usage: node scripts/texts.mjs [--code]   (--code: without the help)
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { SyntaxKind } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

const PROJECTS = ['tsconfig.json', 'src/browser/tsconfig.json'];
const UNKNOWN = '…';
/** What is called with a text for standard error. */
const NOTICES = ['say', 'sayIfRoom', 'note', 'notify', 'tell'];
/** What is written there is for shells to read, not for people. */
const CODE = ['src/cli/completion.ts'];
/** What declares help. */
const HELP =
	/^(Option|Argument|\w+Option|flag|parsed|parsedOr|listed|oneOf|oneOfOr|description|summary|argument|helpOption|helpCommand|usage|version)$/;
const HELP_PROPERTIES = ['summary', 'description', 'examples', 'usage', 'linesHelp'];

const EITHER = [SyntaxKind.QuestionQuestionToken, SyntaxKind.BarBarToken];

/** The kinds of texts, in the order they are printed; the last is whatever reads like a text. */
const ORDER = ['error', 'notice', 'loss', 'doctor', 'help', 'page', 'other'];

/** Literals, and what is made of them by + and ?:, as one text; `inside` gets the expressions left out. */
function textOf(node, inside) {
	switch (node.kind) {
		case SyntaxKind.StringLiteral:
		case SyntaxKind.NoSubstitutionTemplateLiteral:
			return node.text;
		case SyntaxKind.TemplateExpression: {
			const spans = node.templateSpans.map(
				({ expression, literal }) => textOf(expression, inside) + literal.text,
			);
			return node.head.text + spans.join('');
		}
		case SyntaxKind.ParenthesizedExpression:
			return textOf(node.expression, inside);
		case SyntaxKind.ConditionalExpression: {
			inside.push(node.condition);
			return `{${textOf(node.whenTrue, inside)} | ${textOf(node.whenFalse, inside)}}`;
		}
		case SyntaxKind.BinaryExpression: {
			const sides = [textOf(node.left, inside), textOf(node.right, inside)];
			if (node.operatorToken.kind === SyntaxKind.PlusToken) return sides.join('');
			return EITHER.includes(node.operatorToken.kind) ? `{${sides.join(' | ')}}` : UNKNOWN;
		}
		default:
			inside.push(node);
			return UNKNOWN;
	}
}

/** The name that is called or constructed. */
function calledName({ expression }) {
	const named = expression?.name ?? expression;
	return (named?.text ?? '').replace(/^#/, '');
}

/** Undefined: what is around it says. */
function kindOfNode(node) {
	if (node.kind === SyntaxKind.PropertyAssignment)
		return HELP_PROPERTIES.includes(node.name.text) ? 'help' : undefined;
	const isNew = node.kind === SyntaxKind.NewExpression;
	if (!isNew && node.kind !== SyntaxKind.CallExpression) return undefined;
	const name = calledName(node);
	if (isNew && name.endsWith('Error')) return `error ${name}`;
	if (HELP.test(name)) return 'help';
	// Of all lists only that of notices is said.
	const isListed = name === 'push' && node.expression.expression?.text === 'notices';
	return !isNew && (NOTICES.includes(name) || isListed) ? 'notice' : undefined;
}

function kindOfPlace(path) {
	if (path === 'src/bpf/loss.ts') return 'loss';
	if (path.startsWith('src/doctor/')) return 'doctor';
	if (path.startsWith('src/browser/')) return 'page';
	return 'other';
}

/** Whether it reads like something that is said: it has two words. */
const isSaid = (text) => /\p{L}{2}\S* +.*\p{L}{2}/su.test(text);

const SKIPPED = [
	SyntaxKind.ImportDeclaration,
	SyntaxKind.ExportDeclaration,
	SyntaxKind.LiteralType,
	SyntaxKind.TemplateLiteralType,
];
const LITERALS = [
	SyntaxKind.StringLiteral,
	SyntaxKind.NoSubstitutionTemplateLiteral,
	SyntaxKind.TemplateExpression,
	SyntaxKind.BinaryExpression,
	SyntaxKind.ConditionalExpression,
];

function textsOfFile(file, path) {
	const found = [];
	const add = (kind, node, text) => {
		const line = file.text.slice(0, node.getStart(file)).split('\n').length;
		found.push({ kind, place: `${path}:${line}`, text: text.replace(/\s*\n\s*/g, ' \\n ') });
	};
	const walk = (node, kind) => {
		if (SKIPPED.includes(node.kind)) return;
		const own = kindOfNode(node);
		if (own?.startsWith('error ') || own === 'notice') return said(node, own);
		if (LITERALS.includes(node.kind)) return literal(node, kind);
		node.forEachChild((child) => walk(child, own ?? kind));
	};
	/** Each has its line, even if nothing of its text is known here. */
	const said = (node, kind) => {
		const [first, ...others] = node.arguments ?? [];
		const inside = [];
		add(kind, node, first ? textOf(first, inside) : UNKNOWN);
		for (const each of [...inside, ...others]) walk(each, kind);
	};
	const literal = (node, kind) => {
		const inside = [];
		const text = textOf(node, inside);
		if (isSaid(text)) add(kind, node, text);
		// A comparison, say, is no text, but may have some in it.
		if (text === UNKNOWN) node.forEachChild((child) => walk(child, kind));
		else for (const each of inside) walk(each, kind);
	};
	walk(file, kindOfPlace(path));
	return found;
}

function textsOfCode() {
	const api = new API({ cwd: resolve('.') });
	try {
		const texts = new Map();
		for (const config of PROJECTS) {
			const snapshot = api.updateSnapshot({ openProject: resolve(config) });
			const { program } = snapshot.getProject(resolve(config));
			for (const name of program.getSourceFileNames()) {
				const path = relative('.', name);
				const isOurs =
					path.startsWith('src/') && !path.startsWith('src/generated/') && !CODE.includes(path);
				if (!isOurs || path.endsWith('.d.ts') || texts.has(path)) continue;
				texts.set(path, textsOfFile(program.getSourceFile(name), path));
			}
		}
		return [...texts.values()].flat();
	} finally {
		api.close();
	}
}

function helpOf(...args) {
	return execFileSync('bin/tstrace', [...args, '--help'], { encoding: 'utf8' });
}

const lines = [];
if (!process.argv.includes('--code')) {
	const namesIn = (folder) => readdirSync(folder).map((name) => name.replace(/\.ts$/, ''));
	const commands = [...namesIn('src/tools'), ...namesIn('src/converters'), 'doctor', 'completion'];
	for (const words of [[], ...commands.map((name) => [name])]) {
		lines.push(`# ${['tstrace', ...words].join(' ')} --help`, '', helpOf(...words));
	}
}
const order = ({ kind }) => ORDER.indexOf(kind.split(' ')[0]);
const texts = textsOfCode().sort(
	(a, b) =>
		order(a) - order(b) ||
		a.kind.localeCompare(b.kind) ||
		a.place.localeCompare(b.place, 'en', { numeric: true }),
);
let last = '';
for (const { kind, place, text } of texts) {
	if (kind !== last) lines.push(`${last ? '\n' : ''}# ${kind}`, '');
	last = kind;
	lines.push(`${kind}\t${place}\t${text}`);
}
process.stdout.write(`${lines.join('\n')}\n`);
