/** Elements with text; names are only ever text. */

interface Settings {
	readonly class?: string;
	readonly text?: string;
	/** For who hears the page, or points at it. */
	readonly label?: string;
	readonly role?: string;
}

export function make<K extends keyof HTMLElementTagNameMap>(
	tag: K,
	settings: Settings = {},
	...children: readonly Node[]
): HTMLElementTagNameMap[K] {
	const element = document.createElement(tag);
	if (settings.class) element.className = settings.class;
	if (settings.text !== undefined) element.textContent = settings.text;
	if (settings.label) element.setAttribute('aria-label', settings.label);
	if (settings.role) element.setAttribute('role', settings.role);
	element.append(...children);
	return element;
}

/** Buttons of which one is pressed. */
export class Choice<T extends string> {
	readonly element: HTMLElement;
	readonly #buttons: ReadonlyMap<T, HTMLButtonElement>;

	constructor(label: string, options: Readonly<Record<T, string>>, chosen: (option: T) => void) {
		const entries = Object.entries(options) as [T, string][];
		this.#buttons = new Map(
			entries.map(([option, text]) => {
				const button = make('button', { text });
				button.type = 'button';
				button.addEventListener('click', () => chosen(option));
				return [option, button];
			}),
		);
		this.element = make(
			'div',
			{ class: 'choice', label, role: 'group' },
			...this.#buttons.values(),
		);
	}

	show(option: T): void {
		for (const [each, button] of this.#buttons) {
			button.setAttribute('aria-pressed', `${each === option}`);
		}
	}
}
